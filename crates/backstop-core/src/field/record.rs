//! The macro that declares a table's fields once, for reading, writing and the schema.

/// Declares a struct whose fields are read from a policy's table.
///
/// `required name: Type`, `optional name: Type` (an `Option`) and `default name: Type = value` are
/// keys; `derived name: Type` is computed after reading and is no part of the document. Each key's
/// documentation is its description in the schema.
macro_rules! record {
    (
        $(#[doc = $summary:literal])*
        $(#[derive($($derive:ident),*)])?
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $mode:ident $field:ident: $type:ty $(= $default:expr)?
            ),* $(,)?
        }
    ) => {
        $(#[doc = $summary])*
        #[derive(Clone, Debug, PartialEq)]
        $(#[derive($($derive),*)])?
        pub struct $name {
            $(
                $(#[doc = $doc])*
                pub $field: $crate::field::record!(@type $mode $type),
            )*
        }

        impl $crate::field::Record for $name {
            const SUMMARY: &'static str = concat!($($summary, "\n"),*);

            const KEYS: &'static [&'static str] =
                &$crate::field::record!(@keys [] $($mode $field)*);

            fn read_fields(
                table: &$crate::document::Table,
                place: &$crate::field::Place<'_>,
                extra: &[&str],
                findings: &mut $crate::field::Findings,
            ) -> Option<Self> {
                $crate::field::refuse_unknown_keys(table, place.name, Self::KEYS, extra, findings);
                // Every field is read before the first failure counts, so that all are reported.
                $(let $field = $crate::field::record!(
                    @read $mode $field, $type, table, place, findings $(, $default)?
                );)*
                Some(Self { $($field: $field?),* })
            }

            fn write_fields(&self, _into: &mut serde_json::Map<String, serde_json::Value>) {
                $($crate::field::record!(@write $mode $field, self, _into $(, $default)?);)*
            }

            fn over(self, _base: Self) -> Self {
                Self { $($field: $crate::field::record!(@over $mode $field, self, _base)),* }
            }

            fn schema_fields(
                _properties: &mut serde_json::Map<String, serde_json::Value>,
                _required: &mut Vec<serde_json::Value>,
            ) {
                $($crate::field::record!(
                    @schema $mode $field, $type, _properties, _required, concat!($($doc, "\n"),*) $(, $default)?
                );)*
            }
        }
    };

    (@type required $type:ty) => { $type };
    (@type default $type:ty) => { $type };
    (@type derived $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };

    (@keys [$($done:expr),*]) => { [$($done),*] };
    (@keys [$($done:expr),*] derived $field:ident $($rest:tt)*) => {
        $crate::field::record!(@keys [$($done),*] $($rest)*)
    };
    (@keys [$($done:expr),*] $mode:ident $field:ident $($rest:tt)*) => {
        $crate::field::record!(@keys [$($done,)* $crate::field::key_name(stringify!($field))] $($rest)*)
    };

    (@read required $field:ident, $type:ty, $table:ident, $place:ident, $findings:ident) => {
        $crate::field::required::<$type>($table, $place, $crate::field::key_name(stringify!($field)), $findings)
    };
    (@read optional $field:ident, $type:ty, $table:ident, $place:ident, $findings:ident) => {
        $crate::field::optional::<$type>($table, $crate::field::key_name(stringify!($field)), $findings)
    };
    (@read default $field:ident, $type:ty, $table:ident, $place:ident, $findings:ident, $default:expr) => {
        $crate::field::optional::<$type>($table, $crate::field::key_name(stringify!($field)), $findings)
            .map(|value| value.unwrap_or_else(|| $default))
    };
    (@read derived $field:ident, $type:ty, $table:ident, $place:ident, $findings:ident) => {
        Some(<$type>::default())
    };

    (@write required $field:ident, $self:ident, $into:ident) => {
        $into.insert($crate::field::key_name(stringify!($field)).to_owned(), $crate::field::Field::write(&$self.$field));
    };
    (@write optional $field:ident, $self:ident, $into:ident) => {
        if let Some(value) = &$self.$field {
            $into.insert($crate::field::key_name(stringify!($field)).to_owned(), $crate::field::Field::write(value));
        }
    };
    (@write default $field:ident, $self:ident, $into:ident, $default:expr) => {
        if $self.$field != $default {
            $into.insert($crate::field::key_name(stringify!($field)).to_owned(), $crate::field::Field::write(&$self.$field));
        }
    };
    (@write derived $field:ident, $self:ident, $into:ident) => {};

    (@over optional $field:ident, $self:ident, $base:ident) => { $self.$field.or($base.$field) };
    (@over $mode:ident $field:ident, $self:ident, $base:ident) => { $self.$field };

    (@schema required $field:ident, $type:ty, $properties:ident, $required:ident, $doc:expr) => {
        $required.push($crate::field::key_name(stringify!($field)).into());
        $properties.insert(
            $crate::field::key_name(stringify!($field)).to_owned(),
            $crate::field::described(<$type as $crate::field::Field>::schema(), $doc, None),
        );
    };
    (@schema optional $field:ident, $type:ty, $properties:ident, $required:ident, $doc:expr) => {
        $properties.insert(
            $crate::field::key_name(stringify!($field)).to_owned(),
            $crate::field::described(<$type as $crate::field::Field>::schema(), $doc, None),
        );
    };
    (@schema default $field:ident, $type:ty, $properties:ident, $required:ident, $doc:expr, $default:expr) => {
        let default: $type = $default;
        $properties.insert(
            $crate::field::key_name(stringify!($field)).to_owned(),
            $crate::field::described(
                <$type as $crate::field::Field>::schema(),
                $doc,
                Some($crate::field::Field::write(&default)),
            ),
        );
    };
    (@schema derived $field:ident, $type:ty, $properties:ident, $required:ident, $doc:expr) => {};
}

pub(crate) use record;

//! One chart: lines over time, drawn here and readable without seeing them.

use super::escape::escape;
use crate::words::period;

/// Figures over time.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    /// Unique on the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// The last figure, as the caption shows it.
    pub(super) caption: String,
    pub(super) lines: Vec<Line>,
    /// Active time of each figure, in milliseconds, in order.
    pub(super) times: Vec<u64>,
    /// Active time at the right border.
    pub(super) end: u64,
    /// Where a limit ends the figures.
    pub(super) limit: Option<f64>,
    /// The top of the scale; else the highest figure.
    pub(super) top: Option<f64>,
    pub(super) form: fn(f64) -> String,
    /// The area below the first line is filled.
    pub(super) filled: bool,
}

/// One line: what it is, and its figure at each time; none where there is none yet.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: String,
    /// Which of the page's colours.
    pub(super) colour: &'static str,
    pub(super) figures: Vec<Option<f64>>,
    /// A figure holds until the next one, other than one that moves with time.
    pub(super) holds: bool,
}

impl Chart<'_> {
    pub(super) fn draw(&self) -> String {
        let top = self.scale();
        let limit = self.limit.filter(|limit| *limit <= top);
        let mut drawing = String::new();
        for share in [0.25, 0.5, 0.75] {
            let y = HEIGHT * share;
            drawing.push_str(&format!("<path class=\"grid\" d=\"M0 {y:.0}H{WIDTH:.0}\" />"));
        }
        for (place, line) in self.lines.iter().enumerate() {
            let Some(path) = self.path(line, top) else { continue };
            if place == 0 && self.filled {
                drawing.push_str(&format!(
                    "<path class=\"area {}\" d=\"{path}V{HEIGHT:.0}H{:.1}Z\" />",
                    line.colour,
                    self.begin(line)
                ));
            }
            drawing.push_str(&format!("<path class=\"line {}\" d=\"{path}\" />", line.colour));
        }
        if let Some(limit) = limit {
            let y = height_of(limit, top);
            drawing.push_str(&format!("<path class=\"limit\" d=\"M0 {y:.1}H{WIDTH:.0}\" />"));
        }
        let id = self.id;
        format!(
            "<figure class=\"chart\">\n<figcaption>{} <span>{}</span></figcaption>\n\
             <div class=\"plot\"><p aria-hidden=\"true\"><span>{}</span><span>{}</span></p>\n\
             <svg viewBox=\"0 0 {WIDTH:.0} {HEIGHT:.0}\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\"><title id=\"{id}-title\">{} over active time</title>\
             <desc id=\"{id}-desc\">{}</desc>{drawing}</svg></div>\n\
             <p class=\"axis\" aria-hidden=\"true\"><span>0</span><span>active time</span><span>{}</span></p>\n\
             {}{}</figure>\n",
            escape(self.title),
            escape(&self.caption),
            escape(&(self.form)(top)),
            escape(&(self.form)(0.0)),
            escape(self.title),
            escape(&self.description()),
            escape(&period(self.end)),
            self.legend(limit.is_some()),
            self.table()
        )
    }

    /// The top of the scale. A limit is drawn where the figures come near enough to be seen below it.
    fn scale(&self) -> f64 {
        let figures = self.lines.iter().flat_map(|line| line.figures.iter().flatten());
        let highest = figures.copied().fold(0.0, f64::max);
        let wanted = match (self.top, self.limit) {
            (Some(top), _) => top,
            (None, Some(limit)) if limit <= highest * 8.0 => highest.max(limit),
            (None, _) => highest,
        };
        if wanted.is_finite() && wanted > 0.0 { wanted } else { 1.0 }
    }

    /// The way of a line from its first figure to the right border; none without any figure.
    fn path(&self, line: &Line, top: f64) -> Option<String> {
        let mut path = String::new();
        for (x, y) in self.points(line, top) {
            path.push_str(&match (path.is_empty(), line.holds) {
                (true, _) => format!("M{x:.1} {y:.1}"),
                (false, true) => format!("H{x:.1}V{y:.1}"),
                (false, false) => format!("L{x:.1} {y:.1}"),
            });
        }
        (!path.is_empty()).then(|| format!("{path}H{WIDTH:.0}"))
    }

    fn begin(&self, line: &Line) -> f64 {
        self.points(line, 1.0).next().map_or(0.0, |(x, _)| x)
    }

    /// Where the figures of a line are, from left to right.
    fn points(&self, line: &Line, top: f64) -> impl Iterator<Item = (f64, f64)> {
        let figures = line.figures.iter().zip(&self.times);
        figures.filter_map(move |(figure, at)| {
            let figure = figure.filter(|figure| figure.is_finite())?;
            Some((self.across(*at), height_of(figure, top)))
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a picture has no more than a thousand columns")]
    fn across(&self, at: u64) -> f64 {
        if self.end == 0 { 0.0 } else { (at as f64 / self.end as f64).min(1.0) * WIDTH }
    }

    /// The chart in a sentence.
    fn description(&self) -> String {
        let mut sentences = Vec::new();
        for line in &self.lines {
            let mut told = line.figures.iter().flatten();
            let Some(first) = told.next() else { continue };
            let last = told.next_back().unwrap_or(first);
            sentences.push(format!(
                "{}: from {} to {}.",
                line.name,
                (self.form)(*first),
                (self.form)(*last)
            ));
        }
        if let Some(limit) = self.limit {
            sentences.push(format!("The limit is {}.", (self.form)(limit)));
        }
        sentences.join(" ")
    }

    fn legend(&self, limit_is_drawn: bool) -> String {
        let mut entries = Vec::new();
        if self.lines.len() > 1 {
            let line = |line: &Line| {
                format!("<li><i class=\"{}\"></i>{}</li>", line.colour, escape(&line.name))
            };
            entries.extend(self.lines.iter().map(line));
        }
        if let Some(limit) = self.limit {
            let words = escape(&(self.form)(limit));
            entries.push(match limit_is_drawn {
                true => format!("<li><i class=\"limit\"></i>limit {words}</li>"),
                false => format!("<li>limit {words}, far above</li>"),
            });
        }
        if entries.is_empty() {
            return String::new();
        }
        format!("<ul class=\"legend\">{}</ul>\n", entries.concat())
    }

    /// The figures behind the picture, a dozen of them.
    fn table(&self) -> String {
        let count = self.times.len();
        let step = count.div_ceil(MOST_ROWS).max(1);
        let mut rows: Vec<usize> = (0..count).step_by(step).collect();
        if rows.last().copied() != count.checked_sub(1) {
            rows.extend(count.checked_sub(1));
        }
        let names = self.lines.iter().map(|line| format!("<th>{}</th>", escape(&line.name)));
        let names: String = names.collect();
        let cell = |line: &Line, row: usize| {
            let figure = line.figures.get(row).copied().flatten();
            format!("<td>{}</td>", escape(&figure.map_or("–".to_owned(), self.form)))
        };
        let body: String = rows
            .iter()
            .map(|row| {
                let cells: String = self.lines.iter().map(|line| cell(line, *row)).collect();
                format!("<tr><td>{}</td>{cells}</tr>", escape(&period(self.times[*row])))
            })
            .collect();
        format!(
            "<details><summary>as a table</summary><div class=\"wide\"><table><thead><tr><th>after</th>\
             {names}</tr></thead><tbody>{body}</tbody></table></div></details>\n"
        )
    }
}

fn height_of(figure: f64, top: f64) -> f64 {
    HEIGHT - (figure / top).clamp(0.0, 1.0) * HEIGHT
}

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;
const MOST_ROWS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(figures: &[f64], times: &[u64], limit: Option<f64>) -> Chart<'static> {
        let figures = figures.iter().copied().map(Some).collect();
        Chart {
            id: "a",
            title: "Tokens",
            caption: String::new(),
            lines: vec![Line { name: "tokens".to_owned(), colour: "c1", figures, holds: true }],
            times: times.to_vec(),
            end: times.last().copied().unwrap_or(0),
            limit,
            top: None,
            form: |figure| format!("{figure:.0}"),
            filled: true,
        }
    }

    #[test]
    fn a_line_goes_from_its_first_figure_to_its_last() {
        let shown = chart(&[0.0, 50.0, 100.0], &[0, 500, 1000], Some(100.0)).draw();
        assert!(shown.contains("d=\"M0.0 300.0H500.0V150.0H1000.0V0.0H1000\""), "{shown}");
        assert!(shown.contains("<path class=\"limit\" d=\"M0 0.0H1000\" />"), "{shown}");
        assert!(shown.contains("tokens: from 0 to 100. The limit is 100."), "{shown}");
        assert!(shown.contains("<tr><td>500ms</td><td>50</td></tr>"), "{shown}");
    }

    #[test]
    fn a_limit_far_away_is_said_and_not_drawn() {
        let shown = chart(&[0.0, 1.0], &[0, 1], Some(1000.0)).draw();
        assert!(!shown.contains("path class=\"limit\"") && shown.contains("limit 1000, far above"));
    }

    #[test]
    fn one_figure_and_none_are_drawn_too() {
        assert!(chart(&[5.0], &[0], None).draw().contains("H1000\" />"));
        assert!(!chart(&[], &[], None).draw().contains("class=\"line"));
        assert!(!chart(&[f64::NAN, f64::INFINITY], &[0, 1], None).draw().contains("class=\"line"));
    }
}

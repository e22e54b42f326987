//! Seeks of raid10's layouts over chunk size, as a picture.
//!
//! Must not compute more than where a point lies.

use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::{
    backend::{DrawingBackend, SVGBackend},
    chart::{ChartBuilder, SeriesLabelPosition},
    coord::{Shift, combinators::IntoLogRange as _},
    drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea as _},
    element::{Circle, PathElement},
    series::LineSeries,
    style::{BLACK, Color as _, RGBColor, ShapeStyle, WHITE},
};

use super::raid10_layouts::{Array, Head, all_seeks, mean_seek_bytes, size};

/// With colours told apart by those too who do not see red and green.
pub const LAYOUTS: [(&str, RGBColor); 3] = [
    ("n2", RGBColor(0x55, 0x55, 0x55)),
    ("f2", RGBColor(0xd5, 0x5e, 0x00)),
    ("o2", RGBColor(0x00, 0x72, 0xb2)),
];

const PIXELS: (u32, u32) = (900, 760);
/// Chunks of 4 KiB to 4 MiB, with some room.
const CHUNKS: Range<f64> = 3072.0..5_600_000.0;
/// Of the arrays that are drawn.
const DISKS: usize = 4;

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// One of the four.
struct Panel {
    title: &'static str,
    /// The members' work in it.
    heads: fn(&Array) -> &[Head],
    /// `None` where no head moves.
    figure: fn(&[Head]) -> Option<f64>,
    range: Range<f64>,
    base: f64,
    label: fn(f64) -> String,
    legend: SeriesLabelPosition,
}

impl Panel {
    fn number(title: &'static str, heads: fn(&Array) -> &[Head]) -> Self {
        Self {
            title,
            heads,
            figure: all_seeks,
            range: 0.8..50_000.0,
            base: 10.0,
            label: |seeks| format!("{seeks:.0}"),
            legend: SeriesLabelPosition::UpperRight,
        }
    }

    fn length(title: &'static str, heads: fn(&Array) -> &[Head]) -> Self {
        Self {
            title,
            heads,
            figure: mean_seek_bytes,
            range: 3072.0..67_108_864.0,
            base: 2.0,
            label: size,
            legend: SeriesLabelPosition::LowerRight,
        }
    }
}

/// Number and length of seeks, writing and reading, of the arrays of 4 disks.
pub fn svg(arrays: &[Array]) -> Result<String> {
    let mut text = String::new();
    draw(arrays, &mut text).map_err(|error| anyhow!("drawing: {error}"))?;
    Ok(text)
}

fn draw<'a>(arrays: &[Array], text: &'a mut String) -> Drawn<'a> {
    let root = SVGBackend::with_string(text, PIXELS).into_drawing_area();
    root.fill(&WHITE)?;
    let panels = [
        Panel::number("writing: seeks of all members", |array| &array.write),
        Panel::number("reading: seeks of all members", |array| &array.read),
        Panel::length("writing: their mean length", |array| &array.write),
        Panel::length("reading: their mean length", |array| &array.read),
    ];
    for (area, panel) in root.split_evenly((2, 2)).iter().zip(panels) {
        panel.draw(area, arrays)?;
    }
    root.present()
}

impl Panel {
    fn draw<'a>(self, area: &DrawingArea<SVGBackend<'a>, Shift>, arrays: &[Array]) -> Drawn<'a> {
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(70)
            .build_cartesian_2d(
                CHUNKS.log_scale().base(2.0),
                self.range.clone().log_scale().base(self.base),
            )?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .x_labels(7)
            .y_labels(8)
            .x_desc("chunk")
            .x_label_formatter(&|bytes| size(*bytes))
            .y_label_formatter(&|value| (self.label)(*value))
            .draw()?;
        for (layout, colour) in LAYOUTS {
            let points = self.points(arrays, layout);
            let style = ShapeStyle::from(colour).stroke_width(2);
            let none = if points.is_empty() { ": none" } else { "" };
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style))?
                .label(format!("{layout}{none}"))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            let dot = |point| Circle::new(point, 4, colour.filled());
            chart.draw_series(points.iter().copied().map(dot))?;
        }
        chart
            .configure_series_labels()
            .position(self.legend)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
    }

    /// A layout's figure by chunk.
    fn points(&self, arrays: &[Array], layout: &str) -> Vec<(f64, f64)> {
        let drawn = |array: &&Array| array.layout == layout && array.write.len() == DISKS;
        let mut points: Vec<(f64, f64)> = arrays
            .iter()
            .filter(drawn)
            .filter_map(|array| {
                let figure = (self.figure)((self.heads)(array))?;
                Some((array.chunk_bytes as f64, figure))
            })
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points
    }
}

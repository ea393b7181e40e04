//! Map of the pool, the targets and the picks in two dimensions.

use serde::Serialize;

use super::frame::dots;
use super::scale::{AxisScale, Tick};
use super::{Map, PickLine};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 464.0;
const MARGIN: f64 = 16.0;
/// Number of translucent layers of pool dots: where dots overlap, the grey gets darker.
const LAYERS: usize = 6;
/// Number of picks that are drawn with their rank.
const NUMBERED: usize = 10;

/// The map, ready to draw.
#[derive(Debug, Serialize)]
pub struct Drawing {
    width: f64,
    height: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// One path of dots per layer.
    pool: Vec<String>,
    targets: Vec<MapMark>,
    /// Picks in reverse order, to draw the first pick on top.
    picks: Vec<MapMark>,
    /// One path of dots for the picks that have no row in the table.
    more_picks: String,
    explained: [f64; 2],
}

#[derive(Debug, Serialize)]
struct MapMark {
    number: usize,
    numbered: bool,
    x: f64,
    y: f64,
    title: String,
}

/// Draws the map with the same scale on both axes; `shown` are the picks that have a row in the table.
pub fn draw(map: &Map, shown: &[PickLine]) -> Option<Drawing> {
    let all = || [&map.pool, &map.targets, &map.picks].into_iter().flatten().filter(|point| finite(**point));
    let bounds = |axis: usize| {
        let values = || all().map(|point| f64::from(point[axis]));
        Some([values().reduce(f64::min)?, values().reduce(f64::max)?])
    };
    let ([left, right], [low, high]) = (bounds(0)?, bounds(1)?);

    // Data units per unit of the drawing: one value for both axes keeps distances true.
    let unit = ((right - left) / (WIDTH - 2.0 * MARGIN)).max((high - low) / (HEIGHT - 2.0 * MARGIN));
    let around = |[a, b]: [f64; 2], length: f64| {
        let middle = f64::midpoint(a, b);
        [middle - 0.5 * length * unit, middle + 0.5 * length * unit]
    };
    let x = AxisScale::new(around([left, right], WIDTH), [0.0, WIDTH]);
    let y = AxisScale::new(around([low, high], HEIGHT), [HEIGHT, 0.0]);
    let place = |point: &[f32; 2]| finite(*point).then(|| [x.at(point[0].into()), y.at(point[1].into())]);
    let dotted = |points: &[[f32; 2]]| dots(points.iter().filter_map(place));

    let marked = shown.len().min(map.picks.len());
    let pick = |(pick, point): (&PickLine, &[f32; 2])| {
        let [x, y] = place(point)?;
        let name = pick.text.as_ref().unwrap_or(&pick.id);
        let title = pick.label.as_ref().map_or_else(|| name.clone(), |label| format!("{name} · {label}"));
        Some(MapMark { number: pick.rank, numbered: pick.rank <= NUMBERED, x, y, title })
    };
    let target = |(number, point): (usize, &[f32; 2])| {
        let [x, y] = place(point)?;
        Some(MapMark { number, numbered: false, x, y, title: String::new() })
    };
    Some(Drawing {
        width: WIDTH,
        height: HEIGHT,
        x_ticks: x.ticks(8, |_, _| String::new()),
        y_ticks: y.ticks(6, |_, _| String::new()),
        pool: map.pool.chunks(map.pool.len().div_ceil(LAYERS).max(1)).map(dotted).collect(),
        targets: map.targets.iter().enumerate().filter_map(target).collect(),
        picks: shown.iter().zip(&map.picks).rev().filter_map(pick).collect(),
        more_picks: dotted(&map.picks[marked..]),
        explained: map.explained,
    })
}

fn finite(point: [f32; 2]) -> bool {
    point.iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> Map {
        Map { pool: vec![[-1.0, -1.0], [1.0, 1.0]], targets: vec![[0.0, 0.0]], ..Map::default() }
    }

    #[test]
    fn both_axes_have_the_same_scale() {
        let drawing = draw(&square(), &[]).unwrap();
        let dots: Vec<f64> = drawing.pool.concat().split(['M', ' ', 'h']).filter_map(|n| n.parse().ok()).collect();
        let [x0, y0, _, x1, y1, _] = dots[..] else { panic!("two dots: {dots:?}") };
        assert!(((x1 - x0) - (y0 - y1)).abs() < 0.3, "{dots:?}");
        assert_eq!((drawing.targets[0].x, drawing.targets[0].y), (WIDTH / 2.0, drawing.height / 2.0));
    }

    #[test]
    fn points_that_are_not_finite_are_left_out() {
        let mut map = square();
        map.targets.push([f32::NAN, 0.0]);
        map.pool.push([0.0, f32::INFINITY]);
        let drawing = draw(&map, &[]).unwrap();
        assert_eq!(drawing.targets.len(), 1);
        assert_eq!(drawing.pool.len(), 2 + 1);
        assert!(draw(&Map::default(), &[]).is_none());
    }
}

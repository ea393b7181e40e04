//! Pictures in the terminal: by the protocol of kitty, as sixels, or as characters of two pixels each.

use std::ffi::OsString;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use homing_data::RgbPixels;
use image::RgbImage;
use image::imageops::{FilterType, resize};

/// How a terminal shows pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// The graphics protocol of kitty, which other terminals have too.
    Kitty,
    /// Sixel graphics.
    Sixel,
    /// Half-block characters in 16 million colours.
    Blocks,
    /// Half-block characters in 216 colours.
    FewColours,
    /// Characters that look darker or lighter.
    Characters,
}

impl Means {
    /// Returns what the terminal can do, as far as its variables say. `HOMING_PICTURES` overrides it.
    pub fn of_terminal(coloured: bool) -> Self {
        Self::of(coloured, |name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn of(coloured: bool, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        match &*text("HOMING_PICTURES") {
            "kitty" => return Self::Kitty,
            "sixel" => return Self::Sixel,
            "blocks" => return Self::Blocks,
            "characters" => return Self::Characters,
            _ => {}
        }
        if !coloured {
            return Self::Characters;
        }
        let (term, program) = (text("TERM"), text("TERM_PROGRAM"));
        let has = |names: &[&str]| names.iter().any(|name| term.contains(name) || program.contains(name));
        // Multiplexers swallow graphics.
        let direct = variable("TMUX").is_none() && !term.starts_with("screen");
        match () {
            () if direct && (variable("KITTY_WINDOW_ID").is_some() || has(&["kitty", "ghostty", "WezTerm"])) => {
                Self::Kitty
            }
            () if direct && has(&["sixel", "mlterm", "foot", "contour", "iTerm", "mintty"]) => Self::Sixel,
            () if matches!(&*text("COLORTERM"), "truecolor" | "24bit") => Self::Blocks,
            () => Self::FewColours,
        }
    }
}

/// Pixels of a cell of the terminal, as far as they are usual.
const CELL: (u32, u32) = (8, 16);

/// Returns the characters that show a picture in at most `columns` × `lines` cells, with a line break at the end.
pub fn shown(picture: RgbPixels, means: Means, columns: u32, lines: u32) -> String {
    let (width, height) = (picture.width as u32, picture.height as u32);
    let Some(picture) = RgbImage::from_raw(width, height, picture.pixels).filter(|_| width > 0 && height > 0) else {
        return String::new();
    };
    let fit = |(across, down): (u32, u32)| scaled(&picture, columns.max(1) * across, lines.max(1) * down);
    match means {
        Means::Kitty => kitty(&fit(CELL)),
        Means::Sixel => sixel(&fit(CELL)),
        Means::Blocks => blocks(&fit((1, 2)), |[red, green, blue]| format!("2;{red};{green};{blue}")),
        Means::FewColours => blocks(&fit((1, 2)), |colour| format!("5;{}", 16 + of_cube(colour))),
        Means::Characters => characters(&fit((1, 2))),
    }
}

/// Scales a picture so that it fits into a box. Small pictures grow by whole pixels.
fn scaled(picture: &RgbImage, width: u32, height: u32) -> RgbImage {
    let (has_width, has_height) = picture.dimensions();
    let share = (f64::from(width) / f64::from(has_width)).min(f64::from(height) / f64::from(has_height));
    if share >= 1.0 {
        let times = share as u32;
        return resize(picture, has_width * times, has_height * times, FilterType::Nearest);
    }
    let side = |has: u32| (f64::from(has) * share).round().max(1.0) as u32;
    resize(picture, side(has_width), side(has_height), FilterType::Triangle)
}

/// Longest part of a picture in one sequence of kitty's protocol.
const CHUNK: usize = 4096;

fn kitty(picture: &RgbImage) -> String {
    let data = STANDARD.encode(picture.as_raw());
    let chunks: Vec<&str> =
        data.as_bytes().chunks(CHUNK).map(|chunk| std::str::from_utf8(chunk).expect("base64 is ASCII")).collect();
    let mut out = String::with_capacity(data.len() + 32 * chunks.len());
    for (at, chunk) in chunks.iter().enumerate() {
        let more = u8::from(at + 1 < chunks.len());
        let head = if at == 0 {
            format!("a=T,q=2,f=24,s={},v={},m={more}", picture.width(), picture.height())
        } else {
            format!("m={more}")
        };
        write!(out, "\x1b_G{head};{chunk}\x1b\\").expect("a string can be written to");
    }
    out + "\n"
}

/// Returns the nearest of 6 × 6 × 6 colours.
fn of_cube(colour: [u8; 3]) -> usize {
    colour.iter().fold(0, |number, &value| 6 * number + (usize::from(value) * 5 + 127) / 255)
}

fn sixel(picture: &RgbImage) -> String {
    let (width, height) = picture.dimensions();
    let colour = |x: u32, y: u32| of_cube(picture.get_pixel(x, y).0);
    let mut out = format!("\x1bPq\"1;1;{width};{height}");
    for number in 0..216 {
        let part = |power: usize| number / power % 6 * 20;
        write!(out, "#{number};2;{};{};{}", part(36), part(6), part(1)).expect("a string can be written to");
    }
    for top in (0..height).step_by(6) {
        let band: Vec<Vec<usize>> =
            (top..(top + 6).min(height)).map(|y| (0..width).map(|x| colour(x, y)).collect()).collect();
        let mut used: Vec<usize> = band.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        for (at, number) in used.iter().enumerate() {
            write!(out, "{}#{number}", if at > 0 { "$" } else { "" }).expect("a string can be written to");
            for x in 0..width as usize {
                let bits = band.iter().enumerate().filter(|(_, row)| row[x] == *number).map(|(y, _)| 1 << y);
                out.push(char::from(63 + bits.sum::<u8>()));
            }
        }
        out.push('-');
    }
    out + "\x1b\\\n"
}

/// Returns characters whose upper half has the colour of one pixel and whose lower half that of the pixel below.
fn blocks(picture: &RgbImage, code: impl Fn([u8; 3]) -> String) -> String {
    let (width, height) = picture.dimensions();
    let mut out = String::new();
    for y in (0..height).step_by(2) {
        for x in 0..width {
            let upper = code(picture.get_pixel(x, y).0);
            match picture.get_pixel_checked(x, y + 1) {
                Some(lower) => write!(out, "\x1b[38;{upper};48;{}m▀", code(lower.0)),
                None => write!(out, "\x1b[38;{upper};49m▀"),
            }
            .expect("a string can be written to");
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

fn characters(picture: &RgbImage) -> String {
    const SHADES: [char; 5] = [' ', '.', ':', 'o', '#'];
    let (width, height) = picture.dimensions();
    let grey = |x: u32, y: u32| {
        let pixel = picture.get_pixel_checked(x, y).map_or([0; 3], |pixel| pixel.0);
        pixel.iter().map(|&value| usize::from(value)).sum::<usize>() / 3
    };
    let mut out = String::new();
    for y in (0..height).step_by(2) {
        out.extend((0..width).map(|x| SHADES[usize::midpoint(grey(x, y), grey(x, y + 1)) * 4 / 255]));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red above blue.
    fn picture() -> RgbPixels {
        RgbPixels { width: 1, height: 2, pixels: vec![255, 0, 0, 0, 0, 255] }
    }

    #[test]
    fn the_means_follow_the_terminal() {
        let of = |coloured, set: &[(&str, &str)]| {
            Means::of(coloured, |name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into()))
        };
        assert_eq!(of(true, &[("TERM", "xterm-kitty")]), Means::Kitty);
        assert_eq!(of(true, &[("TERM", "xterm-kitty"), ("TMUX", "1"), ("COLORTERM", "truecolor")]), Means::Blocks);
        assert_eq!(of(true, &[("TERM", "foot")]), Means::Sixel);
        assert_eq!(of(true, &[("TERM", "xterm-256color")]), Means::FewColours);
        assert_eq!(of(false, &[("TERM", "xterm-kitty")]), Means::Characters);
        assert_eq!(of(false, &[("HOMING_PICTURES", "sixel")]), Means::Sixel);
    }

    #[test]
    fn a_picture_of_two_pixels_by_every_means() {
        assert_eq!(shown(picture(), Means::Blocks, 1, 1), "\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[0m\n");
        assert_eq!(shown(picture(), Means::FewColours, 1, 1), "\x1b[38;5;196;48;5;21m▀\x1b[0m\n");
        assert_eq!(shown(picture(), Means::Characters, 1, 1), ".\n");
        // Each pixel has grown to 8 × 8.
        let kitty = shown(picture(), Means::Kitty, 1, 1);
        let data = STANDARD.encode([[255, 0, 0].repeat(64), [0, 0, 255].repeat(64)].concat());
        assert_eq!(kitty, format!("\x1b_Ga=T,q=2,f=24,s=8,v=16,m=0;{data}\x1b\\\n"));
        // Colour 180 is red, and 5 is blue: six rows of red, two of red and four of blue, four of blue.
        let sixel = shown(picture(), Means::Sixel, 1, 1);
        let rows = sixel.split_once("#215;2;100;100;100").unwrap().1;
        assert_eq!(rows, "#180~~~~~~~~-#5{{{{{{{{$#180BBBBBBBB-#5NNNNNNNN-\x1b\\\n");
    }

    #[test]
    fn large_pictures_shrink_and_long_ones_are_sent_in_parts() {
        let large = RgbPixels { width: 300, height: 100, pixels: vec![9; 300 * 100 * 3] };
        assert_eq!(shown(large.clone(), Means::Characters, 30, 20).lines().count(), 5);
        let kitty = shown(large, Means::Kitty, 30, 20);
        assert!(kitty.starts_with("\x1b_Ga=T,q=2,f=24,s=240,v=80,m=1;") && kitty.contains("\x1b_Gm=0;"));
    }
}

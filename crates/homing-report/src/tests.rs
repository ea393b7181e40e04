use super::*;

fn report(picks: usize) -> Report {
    let pick = |rank: usize| PickLine {
        rank,
        row: 7 * rank,
        id: format!("row-{rank}"),
        score: 1.0 / rank as f64,
        information: (rank as f64).ln_1p(),
        gain: (rank as f64).ln_1p() - (rank as f64 - 1.0).ln_1p(),
        variance_left: Some(1.0 / (1.0 + rank as f64)),
        purpose: Some(PickPurpose {
            serves: vec![TargetShare { target: 0, share: 0.5 }],
            nearest: vec![TargetCosine { target: 0, cosine: 0.9 }],
            redundant: Some(RedundantRows {
                count: 3,
                example: Some(SimilarRow { row: 2, id: "twin".into(), text: None, similarity: 0.99 }),
            }),
        }),
        thumbnail: Some(Thumbnail::Digit([3; 64])),
        ..PickLine::default()
    };
    let spread = |n: usize| [(n as f32 * 0.7).sin(), (n as f32 * 1.3).cos()];
    Report {
        title: "Digits".into(),
        provenance: Provenance { rule: "itl".into(), rows: 200_000, target_count: 1, ..Provenance::default() },
        picks: (1..=picks).map(pick).collect(),
        map: Some(Map {
            pool: (0..3000).map(spread).collect(),
            targets: vec![[0.5, 0.5]],
            picks: (0..picks).map(spread).collect(),
            explained: [0.3, 0.2],
        }),
        comparison: vec![Contender { rule: "itl".into(), accuracy: Some(0.9), ..Contender::default() }],
        targets: vec![TargetLine {
            variance_before: 1.0,
            variance_left: 0.2,
            helped_most: Some(1),
            ..TargetLine::default()
        }],
        ..Report::default()
    }
}

#[test]
fn text_from_outside_is_escaped() {
    let attack = "<script>alert('\"')</script>";
    let mut report = report(3);
    report.title = attack.into();
    report.warnings.push(attack.into());
    report.provenance.rule = attack.into();
    report.provenance.pool_file = attack.into();
    report.others.push(RuleCurve { name: attack.into(), information: vec![1.0, 2.0], variance_left: vec![] });
    report.comparison[0].rule = attack.into();
    report.targets[0].id = Some(attack.into());
    report.target_texts.insert(0, attack.into());
    let pick = &mut report.picks[0];
    (pick.id, pick.label, pick.group) = (attack.into(), Some(attack.into()), Some(attack.into()));
    pick.text = Some(attack.into());
    let purpose = pick.purpose.as_mut().unwrap();
    purpose.redundant.as_mut().unwrap().example.as_mut().unwrap().text = Some(attack.into());
    purpose.redundant.as_mut().unwrap().example.as_mut().unwrap().id = attack.into();
    let html = render(&report).unwrap();
    assert!(!html.contains("<script>alert"));
    assert!(!html.contains("'\"'"));
    assert_eq!(html.matches("<script").count(), 1);
    assert!(html.contains("&lt;script&gt;alert"));
}

#[test]
fn texts_replace_the_numbers_of_targets() {
    let mut report = report(3);
    report.target_texts.insert(0, "my tyre is flat".into());
    report.picks[0].text = Some("need new tires".into());
    let html = render(&report).unwrap();
    assert!(html.contains(">need new tires</b>"), "the text names the pick");
    assert_eq!(html.matches(">my tyre is flat<").count(), 3 + 1, "every pick and the table of targets show the text");
    assert!(!html.contains("<span class=\"target\">0</span>"));
}

#[test]
fn long_selections_are_cut_and_say_so() {
    let html = render(&report(10_000)).unwrap();
    assert!(html.contains("The first 500 of 10,000."));
    assert_eq!(html.matches("<tr id=\"p").count(), 500);
    assert!(html.contains("row-500<") && !html.contains("row-501"));
}

#[test]
fn short_selections_are_small() {
    assert!(render(&report(100)).unwrap().len() < 400_000);
}

#[test]
fn nothing_is_fetched() {
    let html = render(&report(20)).unwrap();
    assert!(!html.contains("http://") && !html.contains("https://"));
    assert!(!html.contains("src=\"/") && !html.contains("@import"));
}

#[test]
fn numbers_that_are_not_finite_are_not_shown() {
    let mut report = report(5);
    let bad = f64::NAN;
    report.provenance.noise_std = bad;
    report.provenance.choose_seconds = f64::INFINITY;
    report.picks[1].score = bad;
    report.picks[2].gain = bad;
    report.picks[3].information = bad;
    report.picks[4].variance_left = Some(bad);
    report.targets[0].variance_before = 0.0;
    report.targets[0].variance_left = 0.0;
    report.comparison[0].accuracy = Some(bad);
    let map = report.map.as_mut().unwrap();
    map.picks[0] = [f32::NAN; 2];
    map.explained[0] = bad;
    let html = render(&report).unwrap();
    let is_bad = |word: &&str| ["NaN", "inf"].contains(word);
    assert_eq!(html.split(|c: char| !c.is_alphanumeric()).find(is_bad), None);
}

#[test]
fn an_empty_report_is_a_page() {
    let html = render(&Report::default()).unwrap();
    assert!(html.trim_end().ends_with("</html>"));
    assert!(!html.contains("<table"));
}

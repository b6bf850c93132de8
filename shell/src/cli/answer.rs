//! What the agent answered, as a command needs it.

use std::time::Duration;

use meshward_core::{
    legible,
    wire::{
        json,
        local::{KeySummary, LocalError},
    },
};
use serde::de::DeserializeOwned;

use super::{
    Code, Failed, Outcome,
    args::{Global, Output},
    config,
    refused::explained,
    say, say_value,
    socket::{self, ANSWER_TIMEOUT, Answer, Question},
};

/// Asks the agent; any answer but a success fails the command with the agent's own words and their mend.
pub(super) fn ask(global: &Global, question: &Question) -> Result<Answer, Failed> {
    ask_within(global, question, ANSWER_TIMEOUT)
}

/// The same, with another limit for the whole of it.
pub(super) fn ask_within(
    global: &Global,
    question: &Question,
    limit: Duration,
) -> Result<Answer, Failed> {
    let answer = socket::ask(&config::socket(global)?, question, limit)?;
    match answer.status {
        200..=299 => Ok(answer),
        status => {
            let told = json::decode_tolerant::<LocalError>(&answer.body);
            let text = told.map_or_else(
                |_| format!("the agent answered {status}"),
                |told| explained(&legible::line(&told.error), &answer, &question.about),
            );
            Err(Failed::new(Code::Failed, text))
        }
    }
}

/// Prints an answer as it came, or as a person wants to read it, in lines that steer no terminal.
pub(super) fn print<T: DeserializeOwned>(
    global: &Global,
    answer: &Answer,
    text: impl FnOnce(&T) -> String,
) -> Outcome {
    match global.output {
        Output::Json => say(&String::from_utf8_lossy(&answer.body)),
        Output::Text => say(&text(&decoded(answer)?)),
    }
}

/// Prints an answer as it came, or the one value in it alone.
pub(super) fn print_value<T: DeserializeOwned>(
    global: &Global,
    answer: &Answer,
    value: impl FnOnce(T) -> String,
) -> Outcome {
    match global.output {
        Output::Json => say(&String::from_utf8_lossy(&answer.body)),
        Output::Text => say_value(&value(decoded(answer)?)),
    }
}

/// Reads an answer as what its route is documented to give.
pub(super) fn decoded<T: DeserializeOwned>(answer: &Answer) -> Result<T, Failed> {
    json::decode_tolerant(&answer.body).map_err(|fault| {
        Failed::new(Code::Failed, format!("the agent's answer is unusable: {fault}"))
    })
}

/// Lists the keys of reports or secrets, each on a line, or says that there are none.
pub(super) fn list(global: &Global, route: &str, none: &str) -> Outcome {
    let line =
        |row: &KeySummary| format!("{} (version {})\n", legible::line(&row.key), row.version);
    let answer = ask(global, &Question::get(route.to_owned()))?;
    print(global, &answer, |rows: &Vec<KeySummary>| match rows.is_empty() {
        true => format!("{none}\n"),
        false => rows.iter().map(line).collect(),
    })
}

/// Rows below their headings, in columns as wide as their widest text.
pub(super) fn table<const N: usize>(headings: [&str; N], rows: Vec<[String; N]>) -> String {
    let rows = rows.into_iter().map(|row| row.map(|text| legible::line(&text).into_owned()));
    let rows: Vec<[String; N]> = [headings.map(str::to_owned)].into_iter().chain(rows).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(text, width)| format!("{text:<width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_text_and_lines_have_no_trailing_space() {
        let rows = vec![["a".into(), "wide".into()], ["longer".into(), String::new()]];
        assert_eq!(table(["ONE", "TWO"], rows), "ONE     TWO\na       wide\nlonger\n");
        assert_eq!(table(["ONE", "TWO"], Vec::new()), "ONE  TWO\n");
        let steering = vec![["\u{1b}[31m\n\u{202e}".into(), "x".into()]];
        let shown = "ONE      TWO\n\u{fffd}[31m\u{fffd}\u{fffd}  x\n";
        assert_eq!(table(["ONE", "TWO"], steering), shown);
    }
}

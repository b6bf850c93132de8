//! What was pulled: that the disk holds it whole at any time, and as it is served in the end.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{Folder, StateFile},
    wire::{kept, local::DataEntry},
};

use super::witness::{Found, Rest};
use crate::node::Node;

type Data = BTreeMap<StateFile, DataEntry>;

#[derive(Clone, Debug, Default)]
pub(super) struct Archive {
    /// What the disk of each node was last found to hold.
    nodes: Vec<Seen>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    files: BTreeMap<StateFile, Vec<u8>>,
    data: Data,
}

impl Archive {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Seen::default(); nodes] }
    }

    pub(super) fn stand(&mut self, nodes: &[Node], found: &mut Found) {
        for (seen, node) in self.nodes.iter_mut().zip(nodes) {
            if seen.files == node.disk.state {
                continue;
            }
            let data = on_disk(node);
            found.unless(data.is_some(), "what was pulled is whole on the disk at any time");
            let data = data.unwrap_or_default();
            for (file, entry) in &data {
                let Some(before) = seen.data.get(file) else { continue };
                found.unless(
                    entry.version > before.version || entry == before,
                    "an entry on the disk changes only with its version, which does not go back",
                );
            }
            *seen = Seen { files: node.disk.state.clone(), data };
        }
    }

    pub(super) fn rested(&self, rest: &Rest<'_>, found: &mut Found) {
        for node in rest.nodes {
            let Some(agent) = &node.agent else { continue };
            let data = on_disk(node).unwrap_or_default();
            found.unless(
                agent.view().data.values().eq(data.values()),
                "the data that are served are on the disk in the end",
            );
            let file = StateFile { folder: Folder::Root, name: kept::METADATA.into() };
            let metadata = node.disk.state.get(&file);
            let metadata = metadata.and_then(|bytes| kept::decode_metadata(bytes).ok());
            found.unless(
                metadata.unwrap_or_default() == agent.view().metadata,
                "the metadata that are served are on the disk in the end",
            );
        }
    }
}

/// The data entries on the disk of a node; none where a file is damaged.
fn on_disk(node: &Node) -> Option<Data> {
    let files = node.disk.state.iter().filter(|(file, _)| file.folder == Folder::Data);
    let read = |(file, bytes): (&StateFile, &Vec<u8>)| {
        Some((file.clone(), kept::decode_data(&file.name, bytes).ok()?))
    };
    files.map(read).collect()
}

// A restore item action: notes on every ConfigMap that it was restored, and leaves out those that are not wanted again.
import type { RestoreItemAction } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

const noteRestore: RestoreItemAction = {
  async appliesTo() {
    return { includedResources: ['configmaps'] }
  },

  async execute({ item, restore }) {
    const { annotations } = item.metadata
    if (annotations?.['example.lateen.dev/once'] === 'true') return { item, skip: true }
    item.metadata.annotations = { ...annotations, 'example.lateen.dev/restore': restore.metadata.name ?? '' }
    return { item }
  },
}

void servePlugin({ RestoreItemAction: { 'example.lateen.dev/note-restore': () => noteRestore } })

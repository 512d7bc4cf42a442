// A delete item action: is told of every ConfigMap of a backup that is deleted, and would remove what belongs to it elsewhere.
import type { DeleteItemAction } from '@lateen/plugin'
import { type PluginContext, servePlugin } from '@lateen/plugin/serve'

function removeCopy({ log }: PluginContext): DeleteItemAction {
  return {
    async appliesTo() {
      return { includedResources: ['configmaps'], labelSelector: 'example.lateen.dev/copied=true' }
    },

    async execute({ item, backup }) {
      const { name, namespace } = item.metadata
      log.info({ name, namespace, backupName: backup.metadata.name }, 'Removing the copy of a content')
    },
  }
}

void servePlugin({ DeleteItemAction: { 'example.lateen.dev/remove-copy': removeCopy } })

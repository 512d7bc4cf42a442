// An item block action: ConfigMaps are backed up in one block with those that their annotation names.
import type { ItemBlockAction } from '@lateen/plugin'
import { type PluginContext, servePlugin } from '@lateen/plugin/serve'

function belongTogether({ log }: PluginContext): ItemBlockAction {
  return {
    async appliesTo() {
      return { includedResources: ['configmaps'] }
    },

    async getRelatedItems({ item }) {
      const { name = '', namespace = '', annotations } = item.metadata
      const related = annotations?.['example.lateen.dev/with']?.split(',') ?? []
      if (related.length > 0) log.info({ name, namespace, related: related.join() }, 'These belong together')
      return related.map(name => ({ group: '', resource: 'configmaps', namespace, name }))
    },
  }
}

void servePlugin({ ItemBlockAction: { 'example.lateen.dev/belong-together': belongTogether } })

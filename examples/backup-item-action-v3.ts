// A backup item action that also says, before anything is stored, which objects must be stored together: a Pod and the ConfigMaps
// that its containers take their environment from. Velero, which does not know version 3, gets a version 2 and an ItemBlockAction.
import type { ActionItem, BackupItemAction, ResourceIdentifier } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

interface PodSpec {
  containers?: { envFrom?: { configMapRef?: { name: string } }[] }[]
}

function environmentOf({ metadata, spec }: ActionItem): ResourceIdentifier[] {
  const sources = ((spec ?? {}) as PodSpec).containers?.flatMap(({ envFrom = [] }) => envFrom) ?? []
  const names = new Set(sources.flatMap(({ configMapRef }) => configMapRef?.name ?? []))
  return [...names].map(name => ({
    group: '',
    resource: 'configmaps',
    namespace: metadata.namespace ?? '',
    name,
  }))
}

const withEnvironment: BackupItemAction = {
  async appliesTo() {
    return { includedResources: ['pods'] }
  },

  async getAdditionalItems({ item }) {
    return environmentOf(item)
  },

  async execute({ item }) {
    return { item, unchanged: true, additionalItems: environmentOf(item) }
  },
}

void servePlugin({ BackupItemActionV3: { 'example.lateen.dev/with-environment': () => withEnvironment } })

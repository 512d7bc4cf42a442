import type { RestoreSpec } from '@lateen/api'
import type { SeededRandom } from '../../tools/test/seeds.ts'
import type { PlanScene } from './plan-scene.ts'

const resources = [
  ...[
    'configmaps',
    'secrets',
    'services',
    'pods',
    'serviceaccounts',
    'persistentvolumes',
    'pvc',
    'deployments.apps',
  ],
  ...[
    'customresourcedefinitions',
    'sails',
    'ingresses',
    'namespaces',
    'rolebindings',
    'relics.gone.example.com',
  ],
]

/** What a user might ask for, with all filters now and then. */
export function randomPlanSpec(random: SeededRandom, { live, mapping }: PlanScene): RestoreSpec {
  const [old = ''] = Object.keys(mapping)
  const some = (most: number) => random.shuffle(resources).slice(0, random.integer(1, most + 1))
  const sometimes = (share: number, spec: () => RestoreSpec): RestoreSpec =>
    random.chance(share) ? spec() : {}
  return {
    ...sometimes(0.7, () => ({ namespaceMapping: mapping })),
    ...sometimes(0.2, () => ({ namespaceMapping: { [old]: live } })),
    ...sometimes(0.3, () => ({ includedNamespaces: [random.pick([live, old, '*'])] })),
    ...sometimes(0.2, () => ({ excludedNamespaces: [random.pick([live, old])] })),
    ...sometimes(0.3, () => ({ includedResources: some(8) })),
    ...sometimes(0.3, () => ({ excludedResources: some(3) })),
    ...sometimes(0.3, () => ({ includeClusterResources: random.chance(0.5) })),
    ...sometimes(0.2, () => ({ labelSelector: { matchLabels: { from: 'backup' } } })),
    ...sometimes(0.3, () => ({ restoreStatus: { includedResources: ['*'] } })),
    ...sometimes(0.3, () => ({ preserveNodePorts: random.chance(0.5) })),
    ...sometimes(0.3, () => ({ restorePVs: random.chance(0.5) })),
  }
}

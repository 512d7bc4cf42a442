import type { SeededRandom } from '../../tools/test/seeded-random.ts'

type Patching = Record<string, readonly object[]>

/** Conditions, and patches that fit what they select, or fail on some of it. */
const rules: readonly { conditions: object; patching: readonly Patching[] }[] = [
  {
    conditions: { groupResource: 'configmaps', resourceNameRegex: '^plain-[0-2]$' },
    patching: [
      { patches: [{ operation: 'replace', path: '/data/index', value: '"12"' }] },
      {
        patches: [
          { operation: 'test', path: '/data/index', value: '"1"' },
          { operation: 'add', path: '/data/tested', value: 'yes' },
        ],
      },
      { patches: [{ operation: 'copy', from: '/data/index', path: '/data/copy' }] },
      { patches: [{ operation: 'remove', path: '/data/nothing' }] },
      { mergePatches: [{ patchData: '{"metadata":{"labels":{"tier":null,"merged":"yes"}}}' }] },
      { strategicPatches: [{ patchData: 'data:\n  strategic: "yes"\n' }] },
    ],
  },
  {
    conditions: {
      groupResource: 'deployments.apps',
      matches: [{ path: '/spec/replicas', value: '0' }],
      labelSelector: { matchLabels: { tier: 'web' } },
    },
    patching: [
      {
        strategicPatches: [
          {
            patchData:
              'spec: {template: {spec: {containers: [{name: main, image: other}, {name: side, image: x}]}}}',
          },
        ],
      },
      { mergePatches: [{ patchData: 'spec: {paused: true, template: {metadata: {annotations: {a: b}}}}' }] },
      {
        patches: [
          { operation: 'replace', path: '/spec/template/spec/containers/0/image', value: 'patched' },
          { operation: 'add', path: '/metadata/annotations', value: '{"patched": "true"}' },
        ],
      },
    ],
  },
  {
    conditions: { groupResource: '*.scene.lateen.dev', namespaces: ['app-*'] },
    patching: [
      { patches: [{ operation: 'add', path: '/extra', value: '3.5' }] },
      { mergePatches: [{ patchData: '{"area": null, "list": [1, "two", null]}' }] },
      { strategicPatches: [{ patchData: '{"extra": 1}' }] },
    ],
  },
  {
    conditions: { groupResource: 'services', resourceNameRegex: 'web|nodes' },
    patching: [
      { strategicPatches: [{ patchData: 'spec: {ports: [{port: 80, name: renamed}]}' }] },
      { patches: [{ operation: 'move', from: '/spec/selector', path: '/metadata/annotations' }] },
      { mergePatches: [{ patchData: 'spec: {sessionAffinity: ClientIP}' }] },
    ],
  },
  {
    conditions: { groupResource: 'persistentvolumeclaims' },
    patching: [
      { patches: [{ operation: 'replace', path: '/spec/storageClassName', value: 'scene-nobody' }] },
      { mergePatches: [{ patchData: 'metadata: {annotations: {patched: "yes"}}' }] },
    ],
  },
  {
    conditions: { groupResource: '*', resourceNameRegex: '^(plain-4|captain|rig)$' },
    patching: [
      { mergePatches: [{ patchData: 'metadata: {annotations: {all: "yes"}}' }] },
      { patches: [{ operation: 'add', path: '/metadata/labels/all', value: 'yes' }] },
    ],
  },
  {
    conditions: { groupResource: 'pods', matches: [{ path: '/spec/schedulerName', value: 'nobody' }] },
    patching: [
      { strategicPatches: [{ patchData: 'spec: {containers: [{name: main, env: [{name: A, value: b}]}]}' }] },
      {
        patches: [
          { operation: 'add', path: '/spec/containers/-', value: '{"name": "added", "image": "none"}' },
        ],
      },
    ],
  },
]

/** Resource modifiers with some rules of the three kinds. */
export function randomModifiers(random: SeededRandom): object {
  const chosen = random.shuffle(rules).slice(0, random.integer(1, 4))
  const resourceModifierRules = chosen.map(({ conditions, patching }) => ({
    conditions,
    ...random.pick(patching),
  }))
  return { version: 'v1', resourceModifierRules }
}

/** Fine-grained filters, as restores know them. */
export function randomRestorePolicies(random: SeededRandom): object {
  const [first = '', second = ''] = random.shuffle(['secrets', 'configmaps', 'sails', 'services', 'pods'])
  const filters = [
    { kinds: [first], names: ['plain-*', 'web'], excludedNames: ['plain-2'] },
    { kinds: [second], labelSelector: { matchLabels: { tier: 'web' } } },
    ...(random.chance(0.5) ? [{ kinds: ['*'] }] : []),
  ]
  const namespaces = random.pick([['app-*'], ['data-blue'], ['app-red', '*-blue']])
  const clusterFilters = [{ kinds: ['priorityclasses'], names: ['scene-*'] }]
  return {
    version: 'v1',
    namespacedFilterPolicies: [{ namespaces, resourceFilters: filters }],
    ...(random.chance(0.4) && { clusterScopedFilterPolicy: { resourceFilters: clusterFilters } }),
  }
}

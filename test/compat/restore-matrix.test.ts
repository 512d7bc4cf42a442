import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { RestoreSpec } from '@lateen/api'
import { isNotFound } from '@lateen/kube'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { sceneNamespaces } from './backup-scene.ts'
import { unexplainedEnds } from './compared-ends.ts'
import { twinDifferences } from './compared-twins.ts'
import { type ClusterChange, type RestoreCase, randomRestore } from './random-restore-spec.ts'
import { setRestoreScene } from './restore-scene.ts'
import { givenTwins, type RestoreTwins, serverNamespace, startTwins, type Twin } from './restore-twins.ts'

const given = await givenTwins()
const casesPerSeed = 3
const backupNames = ['by-lateen', 'by-velero'] as const

describe('restores do with us what they do with Velero', { skip: given.skip, concurrency: false }, () => {
  let twins: RestoreTwins
  /** What another seed has left behind. */
  const known = new Set<string>()

  before(async () => {
    await Promise.all(
      [given.ours, given.theirs].map(({ cluster }) => setRestoreScene(cluster, { tokens: false })),
    )
    twins = await startTwins(given)
    const spec = {
      includedNamespaces: [...sceneNamespaces],
      includedClusterScopedResources: [
        ...['persistentvolumes', 'storageclasses', 'priorityclasses', 'harbours.scene.lateen.dev'],
        ...['customresourcedefinitions', 'namespaces', 'clusterrolebindings'],
      ],
    }
    const taken = [
      await twins.ours.takeBackup('by-lateen', spec),
      await twins.theirs.takeBackup('by-velero', spec),
    ]
    for (const { status } of taken) assert.equal(status?.phase, 'Completed')
  })
  after(() => twins?.[Symbol.asyncDispose]())

  for (const seed of rotatingSeeds({ name: 'restore-matrix', count: 1, soakCount: 60 })) {
    it(`whatever they are to do (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      for (let index = 0; index < casesPerSeed; index++) {
        // Often into the namespaces of the case before, where much is there already.
        const prefix = `to-${seed}-${random.chance(0.5) ? 0 : index}`
        const backupName = random.pick(backupNames)
        const { spec, ...rest } = randomRestore(random, prefix)
        const restore = { ...rest, spec: { backupName, ...spec } }
        const about = `case ${index}: ${JSON.stringify(restore)}`
        const name = `case-${seed}-${index}`
        const [ours, theirs] = await Promise.all([
          happen(twins.ours, `${name}-ours`, restore),
          happen(twins.theirs, `${name}-theirs`, restore),
        ])
        const differences = await twinDifferences(twins, { known })
        for (const difference of differences) known.add(difference)
        const found = [...unexplainedEnds(ours, theirs), ...differences]
        assert.ok(found.length === 0, `${about}\n${found.slice(0, 60).join('\n')}`)
      }
    })
  }
})

async function happen(twin: Twin, name: string, { spec, modifiers, policies, changes }: RestoreCase) {
  for (const change of changes) await make(twin, change)
  const refer = async (kind: string, document: object | undefined) => {
    if (document === undefined) return undefined
    const metadata = { name: `${name}-${kind}`, namespace: serverNamespace }
    const data = { [kind]: JSON.stringify(document) }
    const configMaps = twin.client.resource(
      await twin.client.discovery.require('configmaps'),
      serverNamespace,
    )
    await configMaps.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
    return { kind: 'configmap', name: metadata.name }
  }
  const resourceModifier = await refer('modifiers', modifiers)
  const resourcePolicy = await refer('policies', policies)
  const full: RestoreSpec = {
    ...spec,
    ...(resourceModifier && { resourceModifier }),
    ...(resourcePolicy && { resourcePolicy }),
  }
  return twin.restore(name, full)
}

/** Nothing happens to an object that is not there. */
async function make({ client }: Twin, { resource, namespace, name, patch }: ClusterChange): Promise<void> {
  const objects = client.resource(await client.discovery.require(resource), namespace)
  try {
    if (patch) await objects.patch(name, { type: 'merge', body: patch })
    else {
      const { metadata } = await objects.get(name)
      await objects.delete(name, { propagationPolicy: 'Foreground' })
      // Finalizers and what it owns take a moment, in each cluster another one.
      await untilSeen(`the end of ${resource} ${name}`, () =>
        objects.get(name).then(left => left.metadata.uid !== metadata.uid, isNotFound),
      )
    }
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

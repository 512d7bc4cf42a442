import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Backup, RestoreSpec } from '@lateen/api'
import { sceneNamespaces } from './backup-scene.ts'
import { unexplainedEnds } from './compared-ends.ts'
import { twinDifferences } from './compared-twins.ts'
import { clearRestoreScene, setRestoreScene } from './restore-scene.ts'
import { givenTwins, type RestoreTwins, startTwins } from './restore-twins.ts'

const given = await givenTwins()

describe('restores of ours and of Velero, from one backup', { skip: given.skip, concurrency: false }, () => {
  let twins: RestoreTwins

  before(async () => {
    await Promise.all(
      [given.ours, given.theirs].map(({ cluster }) => setRestoreScene(cluster, { tokens: true })),
    )
    twins = await startTwins(given)
  })
  after(() => twins?.[Symbol.asyncDispose]())

  const namespaces = [...sceneNamespaces]
  /** Addresses of services, which another cluster has no use for. */
  const excludedResources = ['ipaddresses', 'servicecidrs']
  const backups: Record<string, () => Promise<Backup>> = {
    'their-old': () =>
      twins.theirs.takeBackup('their-old', {
        includedNamespaces: namespaces,
        includeClusterResources: true,
        excludedResources,
      }),
    'their-new': () =>
      twins.theirs.takeBackup('their-new', {
        includedNamespaces: namespaces,
        includedNamespaceScopedResources: ['*'],
        includedClusterScopedResources: ['storageclasses', 'priorityclasses'],
      }),
    'our-old': () =>
      twins.ours.takeBackup('our-old', {
        includedNamespaces: namespaces,
        includeClusterResources: true,
        excludedResources,
      }),
    'our-new': () => twins.ours.takeBackup('our-new', { includedNamespaces: namespaces }),
  }

  it('are made from backups of both', async () => {
    for (const [name, take] of Object.entries(backups)) {
      const { status } = await take()
      assert.equal(status?.phase, 'Completed', name)
    }
  })

  async function compare(name: string, spec: RestoreSpec): Promise<void> {
    const [ours, theirs] = await Promise.all([
      twins.ours.restore(`${name}-ours`, spec),
      twins.theirs.restore(`${name}-theirs`, spec),
    ])
    const restored = Object.values(ours.resourceList).flat()
    assert.ok(restored.filter(item => item.endsWith('(created)')).length > 100, `only ${restored}`)
    assert.deepEqual(await twinDifferences(twins, { owners: true }), [])
    assert.deepEqual(unexplainedEnds(ours, theirs), [])
  }

  for (const backupName of ['their-new', 'our-old']) {
    it(`bring the same into other namespaces: ${backupName}`, async () => {
      const namespaceMapping = Object.fromEntries(namespaces.map(name => [name, `${backupName}-${name}`]))
      await compare(`${backupName}-mapped`, { backupName, namespaceMapping })
    })
  }

  for (const backupName of ['their-old', 'our-new']) {
    it(`bring the same back to where it was: ${backupName}`, async () => {
      await Promise.all([twins.ours, twins.theirs].map(({ cluster }) => clearRestoreScene(cluster)))
      await compare(`${backupName}-back`, { backupName })
    })
  }
})

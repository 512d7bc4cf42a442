import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Backup, RestoreSpec } from '@lateen/api'
import { sceneNamespaces } from './backup-scene.ts'
import { unexplainedEnds } from './compared-ends.ts'
import { twinDifferences } from './compared-twins.ts'
import { actionSettings, clearRestoreScene, setRestoreScene } from './restore-scene.ts'
import { givenTwins, type RestoreTwins, serverNamespace, startTwins } from './restore-twins.ts'

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
    assert.ok(restored.filter(item => item.endsWith('(created)')).length > 50, `only ${restored}`)
    assert.deepEqual(await twinDifferences(twins, { owners: true }), [])
    assert.deepEqual(unexplainedEnds(ours, theirs), [])
  }

  for (const backupName of ['their-new', 'our-old']) {
    it(`bring the same into other namespaces: ${backupName}`, async () => {
      const namespaceMapping = Object.fromEntries(namespaces.map(name => [name, `${backupName}-${name}`]))
      await compare(`${backupName}-mapped`, { backupName, namespaceMapping })
    })
  }

  it('bring the same where ConfigMaps of the actions change it', async () => {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: actionSettings(serverNamespace) })
    for (const { cluster } of [twins.ours, twins.theirs])
      await cluster.kubectl(['create', '-f', '-'], { stdin })
    const namespaceMapping = { 'app-red': 'changed' }
    await compare('changed', { backupName: 'our-new', includedNamespaces: ['app-red'], namespaceMapping })
    const image = '-o=jsonpath={.spec.template.spec.containers[0].image}'
    const changed = await twins.ours.cluster.kubectl(['get', 'deployment', 'web', '-n', 'changed', image])
    assert.equal(changed, 'registry.example/other')
    for (const { cluster } of [twins.ours, twins.theirs])
      await cluster.kubectl(['delete', '-f', '-'], { stdin })
  })

  it('bring the same back to where it was, in a cluster that lost it', async () => {
    await Promise.all([twins.ours, twins.theirs].map(({ cluster }) => clearRestoreScene(cluster)))
    await compare('their-old-back', {
      backupName: 'their-old',
      includedNamespaces: ['data-blue'],
      includeClusterResources: true,
    })
    await compare('our-new-back', { backupName: 'our-new', excludedNamespaces: ['data-blue'] })
  })
})

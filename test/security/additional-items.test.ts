import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import type { ResourceIdentifier, RestoreItemAction } from '@lateen/plugin'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { archiveOf, configMap, restoreArchive, stored } from '../cluster/restore-harness.ts'

const given = await givenCluster()

/**
 * Actions name objects that must be restored first, and take the names from annotations of objects in the archive. Velero made paths of
 * such names, so that `..` led to any file of its pod (velero-io/velero#10102).
 */
describe('an object that an action wants restored first', { skip: given.skip }, () => {
  const namespace = `additional-items-${process.pid}`
  let client: KubeClient
  let folder = ''

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-additional-'))
    await given.cluster.kubectl(['create', 'namespace', namespace])
  })
  after(async () => {
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  it('comes from the archive, and from no file of the server', async () => {
    const planted = configMap({ namespace, name: 'planted' }, { from: 'a file of the server' })
    const file = path.join(folder, 'planted')
    await writeFile(`${file}.json`, JSON.stringify(planted))
    const up = '../'.repeat(20)
    const named = (parts: Partial<ResourceIdentifier>): ResourceIdentifier => ({
      ...{ group: '', resource: 'configmaps', namespace, name: 'planted' },
      ...parts,
    })
    const wanted = [
      named({ name: `${up}${file.slice(1)}` }),
      named({ name: file }),
      named({ namespace: `${up}${folder.slice(1)}` }),
      named({ resource: `${up}${folder.slice(1)}` }),
      named({ name: 'honest' }),
    ]
    const action: RestoreItemAction = {
      appliesTo: async () => ({ includedResources: ['secrets'] }),
      execute: async ({ item }) => ({ item, additionalItems: wanted }),
    }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 'asks' } }
    const archive = archiveOf(
      stored(secret),
      stored(configMap({ namespace, name: 'honest' }, { from: 'the archive' })),
    )
    const actions = [{ name: 'example.com/asks', action }]
    const { items } = await restoreArchive({ client, archive, ports: { actions } })
    const made = new Set([...items.keys()].filter(name => !name.startsWith('namespaces')))
    assert.deepEqual(made, new Set([`secrets ${namespace}/asks`, `configmaps ${namespace}/honest`]))
    await assert.rejects(
      given.cluster.kubectl(['get', 'cm', '-n', namespace, 'planted']),
      /NotFound|not found/,
    )
  })
})

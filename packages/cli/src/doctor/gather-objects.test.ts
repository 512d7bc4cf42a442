import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startLoopbackApi } from '../../../../tools/test/loopback-api.ts'
import { gatherObjects } from './gather-objects.ts'

/** An API server with one snapshot, a Backup in each of two namespaces, and a word on who may look at all of them. */
async function gathered(mayLookEverywhere: boolean) {
  await using server = await startLoopbackApi(({ url }, response) => {
    const { pathname } = new URL(url, 'http://localhost')
    if (pathname === '/apis/velero.io/v1/backups' && !mayLookEverywhere) {
      response.statusCode = 403
      response.end(JSON.stringify({ kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden' }))
      return
    }
    const item = (name: string) => ({ metadata: { name }, spec: {} })
    const items: Record<string, object[]> = {
      '/apis/snapshot.storage.k8s.io/v1/volumesnapshots': [item('snapshot')],
      '/apis/velero.io/v1/backups': [item('ours'), item('theirs')],
      '/apis/velero.io/v1/namespaces/velero/backups': [item('ours')],
    }
    response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: items[pathname] ?? [] }))
  })
  const place = { client: server.client, namespace: 'velero', signal: new AbortController().signal }
  const { objects, everywhere, snapshots } = await gatherObjects(place)
  const names = (of: readonly { metadata: { name?: string } }[] = []) =>
    of.map(({ metadata }) => metadata.name)
  return {
    snapshots: names(snapshots),
    ours: names(objects.backups),
    everywhere: everywhere && names(everywhere.backups),
  }
}

describe('gatherObjects', () => {
  it('did not see the backups of other installations that snapshots belong to', async () => {
    assert.deepEqual(await gathered(true), {
      snapshots: ['snapshot'],
      ours: ['ours'],
      everywhere: ['ours', 'theirs'],
    })
  })

  it('knows when it may not see them', async () => {
    assert.deepEqual(await gathered(false), {
      snapshots: ['snapshot'],
      ours: ['ours'],
      everywhere: undefined,
    })
  })
})

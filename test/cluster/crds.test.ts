import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, it } from 'node:test'
import { allKinds, BackupStorageLocationKind, crdFor, readObject, withDefaults } from '@lateen/api'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilEstablished } from '../../tools/cluster/until-established.ts'

const generated = path.join(import.meta.dirname, '../../deploy/crds')
// `kubectl diff` sees every label, and other tests install the CRDs with one.
const given = await givenCluster({ own: true })

describe('the CRDs on a real API server', { skip: given.skip }, () => {
  const kubectl = (args: string[], stdin?: object) =>
    given.cluster.kubectl(args, stdin === undefined ? {} : { stdin: JSON.stringify(stdin) })

  before(async () => {
    await kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: allKinds.map(crdFor) })
    await untilEstablished(given.cluster, ...allKinds.map(kind => `${kind.plural}.velero.io`))
    await kubectl(['create', 'namespace', 'velero'])
  })

  it('are structural, and the generated files are the same', async () => {
    const crds = JSON.parse(await kubectl(['get', 'crd', '-o', 'json']))
    assert.equal(crds.items.length, 13)
    for (const crd of crds.items) {
      const complaints = crd.status.conditions.filter(
        (condition: { type: string; status: string }) =>
          condition.type === 'NonStructuralSchema' && condition.status !== 'False',
      )
      assert.deepEqual(complaints, [], crd.metadata.name)
    }
    for (const version of ['v1', 'v2alpha1']) {
      assert.equal(await kubectl(['diff', '-f', path.join(generated, version)]), '')
    }
  })

  it('tell in a list the version to watch from', async () => {
    const config = await loadKubeConfig({ path: given.cluster.kubeconfigPath })
    await using client = await createKubeClient({ config })
    const listing = client.resource(BackupStorageLocationKind, 'velero').list()
    await listing.toArray()
    assert.match(listing.resourceVersion ?? '', /^\d+$/)
  })

  const specs: Record<string, Record<string, unknown>> = {
    'missing names of secrets': {
      provider: 'aws',
      objectStorage: { bucket: 'b', caCertRef: { key: 'k' } },
      credential: { key: 'cloud' },
    },
    'nulls wherever they may stand': {
      provider: 'aws',
      objectStorage: { bucket: 'b', prefix: null, caCertRef: { key: 'k', name: null } },
      default: null,
      config: { kept: 'yes', dropped: null },
      credential: null,
      backupSyncPeriod: null,
      validationFrequency: null,
    },
  }
  for (const [index, [title, spec]] of Object.entries(specs).entries()) {
    it(`store a location with ${title} exactly as withDefaults fills it in`, async () => {
      const object = {
        apiVersion: 'velero.io/v1',
        kind: 'BackupStorageLocation',
        metadata: { name: `location-${index}`, namespace: 'velero' },
        spec,
      }
      const created = [
        'create',
        '--raw',
        '/apis/velero.io/v1/namespaces/velero/backupstoragelocations',
        '-f',
        '-',
      ]
      const stored = JSON.parse(await kubectl(created, object))
      assert.deepEqual(stored.spec, withDefaults(BackupStorageLocationKind.schema.spec, spec))
      assert.ok(readObject(BackupStorageLocationKind, stored).ok)
    })
  }
})

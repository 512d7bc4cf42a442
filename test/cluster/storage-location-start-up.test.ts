import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { createKubeClient, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { failedServer, installKinds, Locations, startServer } from './storage-location-harness.ts'

// Of its own: it needs a cluster without our kinds, and kills the API server.
const given = await givenCluster({ own: true })

describe('a server at start', { skip: given.skip }, () => {
  const options = () => ({ namespace: 'velero', kubeconfig: given.cluster.kubeconfigPath })

  it('says that its namespace is missing', async () => {
    const { code, output } = await failedServer(options())
    assert.equal(code, 1)
    assert.match(output, /the namespace velero does not exist in the cluster at https:\/\//)
  })

  it('says which kinds are missing and the command that installs them', async () => {
    await given.cluster.kubectl(['create', 'namespace', 'velero'])
    const { code, output } = await failedServer(options())
    assert.equal(code, 1)
    assert.match(
      output,
      /does not serve .*BackupStorageLocation,.* of velero\.io\/v1 and .*DataUpload of velero\.io\/v2alpha1/,
    )
    assert.match(output, /lateen install --crds-only/)
  })

  it('says that one version of the kinds is missing', async () => {
    await installKinds(given.cluster)
    const { kubectl } = given.cluster
    await kubectl(['delete', 'crd', 'datauploads.velero.io', 'datadownloads.velero.io', '--wait'])
    // A server that still sees them starts, and never ends by itself.
    const listed = () => kubectl(['get', '--raw', '/apis/velero.io/v2alpha1']).catch(String)
    await untilSeen('that they are gone', async () => !/datauploads|datadownloads/.test(await listed()))
    const { output } = await failedServer(options())
    assert.match(output, /does not serve DataDownload, DataUpload of velero\.io\/v2alpha1\. /)
  })

  it('refuses an address that is none, before it looks at the cluster', async () => {
    const { code, output } = await failedServer({ ...options(), kubeconfig: '/none', metricsAddress: '8085' })
    assert.equal(code, 1)
    assert.match(output, /"8085" is not host:port/)
  })

  it('says that its kubeconfig is missing', async () => {
    const { code, output } = await failedServer({ ...options(), kubeconfig: '/no/such/file' })
    assert.equal(code, 1)
    assert.match(output, /\/no\/such\/file/)
  })

  it('goes on validating after the API server was killed and came back', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-start-up-'))
    after(() => rm(folder, { recursive: true }))
    await mkdir(path.join(folder, 'bucket'))
    await installKinds(given.cluster)
    await using client = await createKubeClient({
      config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }),
    })
    const locations = new Locations(client, 'velero')
    const objectStorage = { bucket: 'bucket' }
    await locations.create('kept', { provider: 'filesystem', objectStorage, config: { path: folder } })
    await using server = await startServer({ ...options(), storeValidationFrequency: 1_000 })
    await locations.available('kept')
    await given.cluster.kill('kube-apiserver')
    await given.cluster.start('kube-apiserver')
    await locations.patch('kept', { objectStorage: { bucket: 'none' } })
    await locations.unavailable('kept', 'the bucket "none"')
    assert.equal(await server.stop(), 0)
  })
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createKubeClient, type KubeClient, loadKubeConfig } from '@lateen/kube'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { Locations, prepareCluster, type RunningServer, startServer } from './storage-location-harness.ts'

const given = await givenCluster({ s3: true })
const namespace = `storage-location-velero-${process.pid}`
const run = promisify(execFile)

describe('the velero command line and our server', { skip: given.skip }, () => {
  let client: KubeClient
  let locations: Locations
  let server: RunningServer
  let folder = ''

  before(async () => {
    await prepareCluster(given.cluster, namespace)
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
    locations = new Locations(client, namespace)
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-velero-'))
    await mkdir(path.join(folder, 'bucket'))
    const kubeconfig = given.cluster.kubeconfigPath
    server = await startServer({
      namespace,
      kubeconfig,
      storeValidationFrequency: 1_000,
      version: 'v9.9.9-test',
    })
  })

  after(async () => {
    await server.stop()
    await given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await client[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  async function velero(...args: string[]): Promise<string> {
    const access = ['--kubeconfig', given.cluster.kubeconfigPath, '--namespace', namespace]
    return (await run(await tool('velero'), [...args, ...access])).stdout
  }

  it('agree on the version of the server and on its plugins', async () => {
    assert.match(await velero('version', '--timeout=60s'), /Server:\s+Version: v9\.9\.9-test/)
    const plugins = await velero('plugin', 'get', '--timeout=60s')
    assert.match(plugins, /velero\.io\/aws\s+ObjectStore/)
    assert.match(plugins, /velero\.io\/filesystem\s+ObjectStore/)
  })

  it('make a location on S3 that becomes Available', async () => {
    const { s3 } = given.cluster
    const cloud = `[default]\naws_access_key_id = ${s3.accessKeyId}\naws_secret_access_key = ${s3.secretAccessKey}\n`
    await given.cluster.kubectl([
      '-n',
      namespace,
      'create',
      'secret',
      'generic',
      'cloud',
      `--from-literal=cloud=${cloud}`,
    ])
    const config = `region=${s3.region},s3ForcePathStyle=true,s3Url=${s3.endpoint}`
    const place = ['--provider', 'aws', '--bucket', s3.bucket, '--prefix', namespace]
    await velero(
      'backup-location',
      'create',
      'made',
      ...place,
      '--credential',
      'cloud=cloud',
      '--config',
      config,
      '--default',
    )
    await locations.available('made')
    const row = (await velero('backup-location', 'get')).split('\n').find(line => line.startsWith('made'))
    assert.match(
      row ?? '',
      new RegExp(`^made\\s+aws\\s+${s3.bucket}/${namespace}\\s+Available\\s+.*ReadWrite\\s+true`),
    )
  })

  it('show a location of ours, Unavailable', async () => {
    const config = { path: folder }
    await locations.create('ours', { provider: 'filesystem', objectStorage: { bucket: 'none' }, config })
    await locations.unavailable('ours', 'the bucket "none"')
    const row = (await velero('backup-location', 'get')).split('\n').find(line => line.startsWith('ours'))
    assert.match(row ?? '', /^ours\s+filesystem\s+none\s+Unavailable/)
  })
})

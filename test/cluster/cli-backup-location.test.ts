import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type BackupStorageLocation, labelNames, validLabelValue } from '@lateen/api'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { type Ended, type Lateen, lateenFor, type RunOptions } from './cli-runner.ts'

const given = await givenCluster()
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-cli-location-'))
after(() => rm(folder, { recursive: true }))
const namespace = `cli-location-${randomBytes(3).toString('hex')}`

function locations(verb: string, args: readonly string[] = [], options?: RunOptions): Promise<Ended> {
  return lateen(['-n', namespace, 'backup-location', verb, ...args], options)
}

async function stored(name: string): Promise<BackupStorageLocation> {
  return JSON.parse(await given.cluster.kubectl(['get', 'bsl', name, '-n', namespace, '-o', 'json']))
}

function succeeded(run: Ended, stdout?: string): void {
  assert.equal(run.stderr, '')
  assert.equal(run.status, 0)
  if (stdout !== undefined) assert.equal(run.stdout, stdout)
}

function failed(run: Ended, message: RegExp): void {
  assert.match(run.stderr, message)
  assert.match(run.stderr, /^An error occurred: [^\n]+\n$/)
  assert.equal(run.status, 1)
}

async function remove(...names: string[]): Promise<void> {
  await given.cluster.kubectl(['delete', 'bsl', ...names, '-n', namespace, '--ignore-not-found'])
}

describe('lateen backup-location', { skip: given.skip, concurrency: false }, () => {
  before(async () => {
    succeeded(await lateen(['install', '--crds-only']))
    await given.cluster.kubectl(['create', 'namespace', namespace])
  })
  after(() => given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']))

  it('creates a location with everything its flags say', async () => {
    const certificate = path.join(folder, 'certificate.pem')
    await writeFile(certificate, 'a certificate')
    const created = await locations('create', [
      'full',
      '--provider=aws',
      '--bucket=bucket',
      '--prefix=some/prefix',
      '--config=region=eu,s3Url=http://127.0.0.1:1',
      '--config',
      's3ForcePathStyle=true',
      '--credential=secret=key',
      '--labels=team=web',
      '--access-mode=ReadOnly',
      '--backup-sync-period=0',
      '--validation-frequency=90s',
      `--cacert=${certificate}`,
    ])
    succeeded(created, 'Backup storage location "full" configured successfully.\n')
    const { metadata, spec } = await stored('full')
    assert.deepEqual(metadata.labels, { team: 'web' })
    assert.deepEqual(spec, {
      provider: 'aws',
      objectStorage: {
        bucket: 'bucket',
        prefix: 'some/prefix',
        caCert: Buffer.from('a certificate').toString('base64'),
      },
      config: { region: 'eu', s3Url: 'http://127.0.0.1:1', s3ForcePathStyle: 'true' },
      credential: { name: 'secret', key: 'key' },
      accessMode: 'ReadOnly',
      backupSyncPeriod: '0s',
      validationFrequency: '1m30s',
    })
    await remove('full')
  })

  it('prints the object with -o and sends nothing', async () => {
    const args = ['unsent', '--provider', 'aws', '--bucket', 'b', '-o']
    const json = await locations('create', [...args, 'json'])
    const yaml = await locations('create', [...args, 'yaml'])
    succeeded(json)
    assert.deepEqual(parse(yaml.stdout), JSON.parse(json.stdout))
    assert.equal(JSON.parse(json.stdout).metadata.namespace, namespace)
    failed(await locations('get', ['unsent']), /"unsent" does not exist in namespace cli-location/)
  })

  it('lists locations as table, json and yaml, all or by name, label or default', async () => {
    succeeded(
      await locations('create', ['one', '--provider=aws', '--bucket=b', '--default', '--labels=a/n=1']),
    )
    succeeded(await locations('create', ['two', '--provider=filesystem', '--bucket=c', '--prefix=p']))
    succeeded(
      await lateen(['get', 'backup-locations', '-n', namespace]),
      [
        'NAME   PROVIDER     BUCKET/PREFIX   PHASE     LAST VALIDATED   ACCESS MODE   DEFAULT',
        'one    aws          b               Unknown   Unknown          ReadWrite     true',
        'two    filesystem   c/p             Unknown   Unknown          ReadWrite     ',
        '',
      ].join('\n'),
    )
    const rows = async (...args: string[]) =>
      (await locations('get', args)).stdout.split('\n').flatMap(row => /^(one|two) /.exec(row)?.[1] ?? [])
    assert.deepEqual(await rows('two', 'one'), ['two', 'one'])
    assert.deepEqual(await rows('-l', 'a/n=1'), ['one'])
    assert.deepEqual(await rows('--default'), ['one'])
    assert.match(
      (await locations('get', ['one', '-L', 'a/n', '--show-labels'])).stdout,
      / N +LABELS\n.* 1 +a\/n=1\n/,
    )
    const list = JSON.parse((await locations('get', ['-o', 'json'])).stdout)
    assert.deepEqual([list.kind, list.items.length], ['BackupStorageLocationList', 2])
    const single = parse((await locations('get', ['two', '-o', 'yaml'])).stdout)
    assert.deepEqual([single.kind, single.metadata.name], ['BackupStorageLocation', 'two'])
    await remove('one', 'two')
    succeeded(await locations('get'), '')
  })

  it('shows when a location was validated', async () => {
    succeeded(await locations('create', ['seen', '--provider=aws', '--bucket=b']))
    const status = { phase: 'Unavailable', lastValidationTime: '2026-02-03T04:05:06Z' }
    const patch = JSON.stringify({ status })
    await given.cluster.kubectl(['patch', 'bsl', 'seen', '-n', namespace, '--type=merge', '-p', patch])
    assert.match((await locations('get')).stdout, /Unavailable +2026-02-03 04:05:06 \+0000 UTC +ReadWrite/)
    await remove('seen')
  })

  it('allows one default location and moves it on request', async () => {
    succeeded(await locations('create', ['first', '--provider=aws', '--bucket=b', '--default']))
    failed(
      await locations('create', ['second', '--provider=aws', '--bucket=b', '--default']),
      /"first" is already the default.*'lateen backup-location set first --default=false'/,
    )
    succeeded(await locations('create', ['second', '--provider=aws', '--bucket=b']))
    failed(await locations('set', ['second', '--default']), /default backup storage location already: first/)
    succeeded(
      await locations('set', ['first', '--default']),
      'Backup storage location "first" is already the default backup storage location.\n',
    )
    succeeded(await locations('set', ['first', '--default=false']))
    succeeded(await locations('set', ['second', '--default']))
    assert.equal((await stored('first')).spec.default, false)
    assert.equal((await stored('second')).spec.default, true)
    await remove('first', 'second')
  })

  it('changes only what set names', async () => {
    const certificate = path.join(folder, 'other.pem')
    await writeFile(certificate, 'pem')
    succeeded(await locations('create', ['a', '--provider=aws', '--bucket=b', `--cacert=${certificate}`]))
    succeeded(await locations('set', ['a', '--credential', 's=k']))
    const { spec } = await stored('a')
    assert.deepEqual(spec.credential, { name: 's', key: 'k' })
    assert.equal(spec.objectStorage.caCert, Buffer.from('pem').toString('base64'))
    await remove('a')
  })

  it('deletes a location with its backups and repositories after asking', async () => {
    const name = `long-${'x'.repeat(70)}`
    succeeded(await locations('create', [name, '--provider=aws', '--bucket=b']))
    const mine = { [labelNames.storageLocation]: validLabelValue(name) }
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(belongings(mine, 'mine')) })
    const other = { [labelNames.storageLocation]: 'other' }
    await given.cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(belongings(other, 'other')) })

    const refused = await locations('delete', [name], { stdin: 'maybe\nn\n' })
    succeeded(refused)
    assert.doesNotMatch(refused.stdout, /deleted/)
    failed(await locations('delete', [name]), /input ended before the question was answered.*--confirm/)

    const deleted = await locations('delete', [name], { stdin: 'y\n' })
    succeeded(deleted)
    assert.match(deleted.stdout, new RegExp(`Backup storage location "${name}" deleted successfully`))
    const left = await given.cluster.kubectl([
      'get',
      'backups.velero.io,backuprepositories',
      '-n',
      namespace,
      '-o',
      'name',
    ])
    assert.deepEqual(left.trim().split('\n').toSorted(), [
      'backup.velero.io/other',
      'backuprepository.velero.io/other',
    ])
    await given.cluster.kubectl(['delete', 'backups.velero.io,backuprepositories', '--all', '-n', namespace])
  })

  it('deletes by label or all, and goes on after a name that does not exist', async () => {
    for (const name of ['a', 'b', 'c']) {
      succeeded(await locations('create', [name, '--provider=aws', '--bucket=b', `--labels=n=${name}`]))
    }
    succeeded(
      await locations('delete', ['-l', 'n=b', '--confirm']),
      'Backup storage location "b" deleted successfully.\n',
    )
    const partly = await locations('delete', ['none', 'c', '--confirm'])
    failed(partly, /"none" does not exist/)
    assert.equal(partly.stdout, 'Backup storage location "c" deleted successfully.\n')
    succeeded(await locations('delete', ['--all', '--confirm']))
    succeeded(await locations('delete', ['--all', '--confirm']), 'No backup-locations found\n')
    failed(await locations('delete', ['a', '--all']), /exactly one of/)
  })

  it('says in one line what is wrong', async () => {
    succeeded(await locations('create', ['taken', '--provider=aws', '--bucket=b']))
    failed(
      await locations('create', ['taken', '--provider=aws', '--bucket=b']),
      /"taken" already exists in namespace/,
    )
    failed(await locations('create', ['Bad_Name', '--provider=aws', '--bucket=b']), /Bad_Name.*invalid/)
    failed(await locations('set', ['none', '--default']), /"none" does not exist/)
    failed(
      await locations('create', ['a', '--provider=aws', '--bucket=b', '--backup-sync-period=soon']),
      /duration/,
    )
    failed(
      await locations('create', ['a', '--provider=aws', '--bucket=b', '--cacert=/none']),
      /--cacert names \/none/,
    )
    failed(await locations('get', ['-l', 'a in (']), /selector|parse/i)
    failed(
      await lateen([
        '-n',
        'no-such-namespace',
        'create',
        'backup-location',
        'a',
        '--provider=aws',
        '--bucket=b',
      ]),
      /namespace no-such-namespace does not exist/,
    )
    await remove('taken')
  })

  it('says in one line that there is no cluster', async () => {
    failed(await locations('get', ['--kubeconfig', '/none']), /no kubeconfig found: no file \/none/)
    failed(await locations('get', [], { env: { KUBECONFIG: '/none' } }), /no kubeconfig found/)
    failed(await locations('get', ['--kubecontext', 'none']), /no context "none"/)
    const kubeconfig = path.join(folder, 'kubeconfig')
    await writeFile(kubeconfig, unreachable)
    failed(await locations('get', ['--kubeconfig', kubeconfig]), /127\.0\.0\.1/)
  })

  it('takes the namespace from the flag, the client configuration and the environment', async () => {
    succeeded(await locations('create', ['here', '--provider=aws', '--bucket=b']))
    const env = { VELERO_NAMESPACE: namespace }
    const byEnvironment = await lateen(['backup-location', 'get', 'here'], { env })
    succeeded(byEnvironment)
    succeeded(await lateen(['client', 'config', 'set', 'namespace=elsewhere', 'nonsense']).then(quiet))
    failed(await lateen(['backup-location', 'get', 'here'], { env }), /namespace elsewhere/)
    succeeded(await locations('get', ['here']))
    succeeded(
      await lateen(['client', 'config', 'get', 'namespace', 'features']),
      'namespace: elsewhere\nfeatures: <NOT SET>\n',
    )
    succeeded(await lateen(['client', 'config', 'set', 'namespace=']))
    succeeded(await lateen(['client', 'config', 'get']), '')
    await remove('here')
  })
})

function quiet(run: Ended): Ended {
  assert.equal(run.stderr, 'WARNING: invalid KEY=VALUE: "nonsense"\n')
  return { ...run, stderr: '' }
}

function belongings(labels: Record<string, string>, name: string): object {
  const metadata = { name, namespace, labels }
  const spec = {
    volumeNamespace: 'a',
    backupStorageLocation: 'b',
    repositoryType: 'kopia',
    resticIdentifier: '',
    maintenanceFrequency: '1h',
  }
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'velero.io/v1', kind: 'Backup', metadata, spec: {} },
      { apiVersion: 'velero.io/v1', kind: 'BackupRepository', metadata, spec },
    ],
  }
}

/** Nobody listens there. */
const unreachable = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'a',
  contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
  clusters: [{ name: 'a', cluster: { server: 'http://127.0.0.1:1' } }],
  users: [{ name: 'a', user: {} }],
})

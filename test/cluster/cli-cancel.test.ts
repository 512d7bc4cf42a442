import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BackupKind, isCancelRequested, type RestorePhase } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { untilSeen } from '../../tools/cluster/wait-until.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'
import { createCopied, OperationsFolder } from './operations-folder.ts'
import { type OperationsScene, openOperationsScene } from './restore-operations-scene.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')
const given = await givenCluster({ s3: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

function succeeded(ended: Ended, stdout: RegExp): void {
  assert.equal(ended.stderr, '')
  assert.match(ended.stdout, stdout)
  assert.equal(ended.status, 0)
}

function failed(ended: Ended, message: RegExp): void {
  assert.match(ended.stderr, message)
  assert.equal(ended.status, 1)
}

describe('lateen cancel', { skip: given.skip, concurrency: false }, () => {
  let all: OperationsScene
  let copies: OperationsFolder
  const places: string[] = []

  before(async () => {
    all = await openOperationsScene(given.cluster, 'cli-cancel')
    copies = await OperationsFolder.create()
    await copyFile(path.join(copies.plugins, 'operations'), path.join(all.plugins, 'backup-operations'))
    await all.start()
  })
  after(async () => {
    await all?.[Symbol.asyncDispose]()
    await copies[Symbol.asyncDispose]()
    if (places.length > 0) await given.cluster.kubectl(['delete', 'namespace', '--wait=false', ...places])
  })

  const run = (...args: string[]) => lateen(['-n', all.scene.namespace, ...args])
  const inPhase = (name: string, phase: RestorePhase) =>
    all.scene.restores.until(name, ({ status }) => status?.phase === phase)

  it('stops a restore that waits, and with --wait tells how it ended', async () => {
    await all.create('waits', { begin: true })
    await inPhase('waits', 'WaitingForPluginOperations')
    const cancelled = await run('restore', 'cancel', 'waits', '--confirm', '--wait')
    succeeded(
      cancelled,
      /^Request to cancel restore "waits" submitted successfully\.\n[\s\S]*Restore "waits" has ended with status PartiallyFailed\.\n$/,
    )
    assert.equal(await all.isCancelled('waits.one'), true)
  })

  it('stops a restore in progress, and says why it failed', async () => {
    await all.create('runs', { hold: 'one' })
    await all.held('runs', 'one')
    succeeded(
      await run('restore', 'cancel', 'runs', '--confirm', '--wait'),
      /Restore "runs" has ended with status Failed: cancelled by request\.\n$/,
    )
  })

  it('refuses what has ended already, and goes on with the others', async () => {
    await all.create('other', { begin: true })
    await inPhase('other', 'WaitingForPluginOperations')
    const ended = await run('restore', 'cancel', 'waits', 'nobody', 'other', '--confirm')
    failed(
      ended,
      /2 cancellations failed: there is nothing to cancel: restore "waits" has ended already, it is PartiallyFailed; restore "nobody" does not exist/,
    )
    assert.match(
      ended.stdout,
      /^Request to cancel restore "other" submitted successfully\.\nRun `lateen rest/,
    )
    await all.scene.restores.ended('other')
    failed(
      await run('restore', 'cancel', 'other', '--confirm'),
      /"other" has ended already, it is PartiallyFailed.*'lateen restore describe other'/,
    )
  })

  it('takes all that have not ended, or those that match', async () => {
    await all.create('first', { begin: true })
    await inPhase('first', 'WaitingForPluginOperations')
    succeeded(
      await run('restore', 'cancel', '-l', 'a=b', '--confirm'),
      /^No restores found that have not ended\n$/,
    )
    succeeded(
      await run('restore', 'cancel', '--all', '--confirm', '--wait'),
      /^Request to cancel restore "first" submitted successfully\.\n[^"]*Restore "first" has ended with status PartiallyFailed\.\n$/,
    )
  })

  it('asks first', async () => {
    await all.create('asked', { begin: true })
    await inPhase('asked', 'WaitingForPluginOperations')
    const { stdout, status } = await lateen(['-n', all.scene.namespace, 'restore', 'cancel', 'asked'], {
      stdin: 'n\n',
    })
    assert.deepEqual([stdout, status], ['Are you sure you want to continue (Y/N)? ', 0])
    assert.equal(isCancelRequested(await all.scene.restores.get('asked')), false)
    for (const name of ['one', 'two']) await all.tell(`asked.${name}`, { completed: true })
    await all.scene.restores.ended('asked')
  })

  it('needs names, or --all, or a selector', async () => {
    for (const args of [[], ['a', '--all'], ['--all', '-l', 'a=b']]) {
      failed(await run('restore', 'cancel', ...args), /exactly one of: specific restore name\(s\), the --all/)
    }
    failed(await run('backup', 'cancel'), /exactly one of: specific backup name\(s\), the --all/)
  })

  it('stops backups in the same way', async () => {
    for (const [name, behaviour] of [
      ['copied', 'wait'],
      ['held', 'hold'],
    ] as const) {
      const namespace = await createCopied(all.scene, name, [{ name, behaviour }])
      places.push(namespace)
      await all.scene.backups.create(name, { includedNamespaces: [namespace] })
    }
    await all.scene.backups.until('copied', ({ status }) => status?.phase === 'WaitingForPluginOperations')
    // It waits before its operation was asked about for the first time.
    const stored = () => all.scene.bucket.readJson('copied', '-itemoperations.json.gz')
    await untilSeen('progress in the bucket', async () =>
      JSON.stringify(await stored()).includes('"nCompleted":1'),
    )
    const shown = await run('backup', 'describe', 'copied', '--details')
    assert.match(shown.stdout, /^ +Operation ID: +copied\.copied\.\d+$/m)
    assert.match(shown.stdout, /^ +Progress: +1 of 10 complete \(pages\)$/m)
    succeeded(
      await run('backup', 'cancel', 'copied', '--confirm', '--wait'),
      /^Request to cancel backup "copied" submitted successfully\.\n[\s\S]*Backup "copied" has ended with status PartiallyFailed\.\n$/,
    )
    assert.equal((await copies.cancelled('copied')).length, 1)
    await copies.held('held', 'held')
    succeeded(
      await run('backup', 'cancel', 'held', '--confirm', '--wait'),
      /Backup "held" has ended with status Failed: cancelled by request\.\n$/,
    )
    await copies.letGo('held')
  })

  it('refuses backups that have ended', async () => {
    const name = 'left-behind'
    const backups = all.scene.client.resource(BackupKind, all.scene.namespace)
    const { apiVersion, kind } = await backups.get('whole')
    const metadata = { name, namespace: all.scene.namespace }
    await backups.create({ apiVersion, kind, metadata, spec: {}, status: { phase: 'Deleting' } })
    failed(await run('backup', 'cancel', name, '--confirm'), /backup "left-behind" has ended already/)
    failed(await run('backup', 'cancel', 'whole', '--confirm'), /"whole" has ended already, it is Completed/)
    succeeded(await run('backup', 'cancel', '--all', '--confirm'), /^No backups found that have not ended\n$/)
  })

  it('is not needed to watch: describe --wait shows a restore until its end', async () => {
    await all.create('watched', { begin: true })
    await inPhase('watched', 'WaitingForPluginOperations')
    const watching = await watch('watched', '--details')
    const json = await watch('watched', '--details', '-o', 'json')
    await all.tell('watched.one', { nCompleted: 1, nTotal: 2, operationUnits: 'halves' })
    await watching.shows(/^ +Progress: +1 of 2 complete \(halves\)$/m)
    for (const name of ['one', 'two']) {
      await all.tell(`watched.${name}`, { completed: true, nCompleted: 2, nTotal: 2 })
    }
    const { stdout, code } = await watching.ended
    assert.equal(code, 0)
    const looks = stdout.split(/\n\n(?=Name: )/)
    assert.match(looks[0] ?? '', /^Phase: +WaitingForPluginOperations$/m)
    assert.match(looks.at(-1) ?? '', /^Phase: +Completed$/m)
    assert.match(looks.at(-1) ?? '', /^ +Progress: +2 of 2 complete/m)
    assert.ok(
      looks.some(look => /^ +Progress: +1 of 2 complete \(halves\)$/m.test(look)),
      stdout,
    )
    assert.equal(new Set(looks).size, looks.length, 'each is different')
    const documents = (await json.ended).stdout.split(/(?<=^\})\n/m).filter(text => text.trim() !== '')
    assert.equal(JSON.parse(documents.at(-1) ?? '').phase, 'Completed')
  })

  it('and describe --wait ends when it is interrupted', async () => {
    await all.create('left', { begin: true })
    await inPhase('left', 'WaitingForPluginOperations')
    const { child, ended } = await watch('left')
    child.kill('SIGINT')
    assert.equal((await ended).code, 130)
    await all.cancel('left')
    await all.scene.restores.ended('left')
  })

  /** Begins to describe a restore until its end, and waits until something is shown. */
  async function watch(name: string, ...flags: string[]) {
    const env = { PATH: process.env.PATH ?? '', KUBECONFIG: given.cluster.kubeconfigPath }
    const args = [launcher, '-n', all.scene.namespace, 'restore', 'describe', name, '--wait', ...flags]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      stdout += text
    })
    const ended = once(child, 'close').then(([code]) => ({ code, stdout }))
    const shows = (what: RegExp) => untilSeen(`${what}`, async () => what.test(stdout))
    await shows(/./)
    return { child, ended, shows }
  }
})

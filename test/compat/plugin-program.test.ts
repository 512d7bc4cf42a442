import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { type ActionItem, isPluginError, knownKindsVariable } from '@lateen/plugin'
import { type PluginProcess, startPluginProcess } from './plugin-process.ts'

const script = path.join(import.meta.dirname, 'odd-plugin.ts')
const item: ActionItem = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n' } }
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }

const start = (args: readonly string[] = [], env: Record<string, string> = {}) =>
  startPluginProcess({ command: process.execPath, args: [script, ...args], env })

const execute = ({ host }: PluginProcess, name: string) =>
  host.plugin('BackupItemAction', `example.com/${name}`).execute({ item, backup })

describe('a plugin program', () => {
  it('started by hand says what it is for and fails', async () => {
    const { VELERO_PLUGIN: _cookie, ...env } = process.env
    const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    assert.equal(child.exitCode, 1)
    assert.equal(stdout, '')
    assert.match(stderr, /is a plugin of Lateen and Velero/)
  })

  it('takes the flags of its host, ends when it is told, and leaves no socket', async () => {
    const flags = ['--log-level', 'debug', '--features=EnableCSI', '-v=4', '--unknown', 'x', '--bool']
    await using program = await start(flags)
    await program.host.checkHealth()
    await execute(program, 'logs')
    assert.equal(await program.shutdown(), 0)
    const entries = program.log.map(line => JSON.parse(line))
    assert.deepEqual(entries[0].features, ['EnableCSI'])
    const { '@level': level, name, namespace, error, plugin } = entries[1]
    assert.deepEqual(
      { level, name, namespace, error, plugin },
      {
        ...{ level: 'warn', name: '5', namespace: 'null', error: 'broken', plugin: 'example.com/logs' },
      },
    )
    await assert.rejects(access(program.handshake.address), { code: 'ENOENT' })
  })

  it('lists kinds that Velero does not know only to hosts that do', async () => {
    const kinds = async (env: Record<string, string>) => {
      await using program = await start([], env)
      const listed = await program.host.listPlugins()
      assert.ok(listed.every(({ command }) => command === script))
      return listed.filter(({ name }) => name === 'example.com/newest').map(({ kind }) => kind)
    }
    assert.deepEqual(await kinds({}), ['BackupItemActionV2', 'ItemBlockAction'])
    assert.deepEqual(await kinds({ [knownKindsVariable]: 'BackupItemActionV3' }), ['BackupItemActionV3'])
  })

  it('prints to its log, not into what the host reads', async () => {
    await using program = await start()
    await execute(program, 'prints')
    assert.equal(await program.shutdown(), 0)
    const messages = program.log.map(line => JSON.parse(line)['@message'])
    assert.deepEqual(messages.slice(1), ['a line for people', 'and a raw one'])
    assert.ok(program.log.every(line => line.length < 65_536))
  })

  it('logs as much as it likes', async () => {
    await using program = await start()
    await execute(program, 'floods')
    assert.equal(await program.shutdown(), 0)
    assert.equal(program.log.length, 20_000)
    assert.deepEqual(
      program.log.map(line => JSON.parse(line).line),
      [...program.log.keys()],
    )
  })

  for (const [name, exitCode, last] of [
    ['exits', 3, undefined],
    ['throws-later', 1, 'nobody catches this'],
    ['rejects-later', 1, 'nobody waits for this'],
  ] as const) {
    it(`that ${name} fails the call that is under way, and says why`, async () => {
      await using program = await start()
      const closed = once(program.child, 'close')
      await assert.rejects(
        execute(program, name),
        error => isPluginError(error, 'UNAVAILABLE') && error.transport,
      )
      await closed
      assert.equal(program.child.exitCode, exitCode)
      if (last === undefined) return
      const { '@level': level, error } = JSON.parse(program.log.at(-1) ?? '')
      assert.deepEqual([level, error], ['error', last])
      await assert.rejects(access(program.handshake.address), { code: 'ENOENT' })
    })
  }

  it('that does not answer can be left, is well otherwise, and ends when it is told', async () => {
    await using program = await start()
    const action = program.host.plugin('BackupItemAction', 'example.com/hangs')
    const left = action.execute({ item, backup, signal: AbortSignal.timeout(200) })
    const hanging = assert.rejects(
      action.execute({ item, backup }),
      error => isPluginError(error) && error.transport,
    )
    await assert.rejects(left, { name: 'TimeoutError' })
    assert.equal((await execute(program, 'fine')).unchanged, true)
    assert.equal(await program.shutdown(), 0)
    await hanging
  })

  it('ends in order when it is terminated, and not when it is interrupted', async () => {
    await using program = await start()
    program.child.kill('SIGINT')
    assert.equal((await execute(program, 'fine')).unchanged, true)
    const closed = once(program.child, 'close')
    program.child.kill('SIGTERM')
    await closed
    assert.equal(program.child.exitCode, 0)
    await assert.rejects(access(program.handshake.address), { code: 'ENOENT' })
  })

  it('answers a hundred calls at a time', async () => {
    await using program = await start()
    const answers = await Promise.all(Array.from({ length: 100 }, () => execute(program, 'fine')))
    assert.ok(answers.every(({ unchanged }) => unchanged))
  })
})

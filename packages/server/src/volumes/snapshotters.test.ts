import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { silentLogger } from '@lateen/kube'
import { type CredentialFiles, createCredentialFiles } from '../backup-store/credential-files.ts'
import { noBuiltInPlugins } from '../plugin-host/built-in-plugins.ts'
import { createPluginRegistry } from '../plugin-host/plugin-registry.ts'
import { SnapshotLocationError } from './snapshot-location-error.ts'
import { type Snapshotters, snapshotterOfOperation, snapshotterOpener } from './snapshotters.ts'
import { MemorySnapshotter, memoryLocation } from './testing/memory-snapshotter.ts'

const { signal } = new AbortController()

describe('the snapshotters of a session', () => {
  let folder = ''
  let credentialFiles: CredentialFiles

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-snapshotters-'))
    credentialFiles = createCredentialFiles(folder, () => 'x')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  function open(memory: MemorySnapshotter): Snapshotters {
    const builtIns = () => ({
      ...noBuiltInPlugins,
      volumeSnapshotters: { 'example.com/memory': () => memory.snapshotter },
    })
    const readSecretKey = async ({ name, key }: { name: string; key: string }) => {
      if (name !== 'cloud') throw new Error(`the secret velero/${name} does not exist`)
      return Buffer.from(`secret ${key}`)
    }
    const opener = snapshotterOpener({
      client: undefined as never,
      namespace: 'velero',
      readSecretKey,
      credentialFiles,
    })
    return opener(createPluginRegistry({ builtIns }).open({ log: silentLogger }))
  }

  function refused(opening: Promise<unknown>, code: string, text: RegExp) {
    return assert.rejects(opening, (error: unknown) => {
      assert.ok(error instanceof SnapshotLocationError, String(error))
      assert.equal(error.code, code)
      assert.match(error.message, text)
      return true
    })
  }

  it('are refused a credentials file that the location names itself', async () => {
    const memory = new MemorySnapshotter({ volumes: [] })
    const location = memoryLocation('one', { config: { credentialsFile: '/credentials/cloud' } })
    await refused(
      open(memory).of(location, signal),
      'SNAPSHOT_LOCATION_REFUSED',
      /spec\.config has credentialsFile.*spec\.credential/,
    )
    assert.deepEqual(memory.calls, [])
  })

  it('are initialised once for each location, with its settings', async () => {
    const memory = new MemorySnapshotter({ volumes: [] })
    const snapshotters = open(memory)
    const [one, two] = [memoryLocation('one', { config: { a: '1' } }), memoryLocation('two')]
    const made = await Promise.all([one, one, two, one].map(each => snapshotters.of(each, signal)))
    assert.deepEqual(memory.calls, [
      ['init', { a: '1' }],
      ['init', {}],
    ])
    assert.equal(made[0], made[3])
  })

  it('get the credentials of their location as a file', async () => {
    const memory = new MemorySnapshotter({ volumes: [] })
    await open(memory).of(memoryLocation('one', { credential: { name: 'cloud', key: 'k' } }), signal)
    const [, config] = memory.calls[0] as [string, { credentialsFile: string }]
    assert.equal(await readFile(config.credentialsFile, 'utf8'), 'secret k')
  })

  it('that cannot be opened say which location it is and what is wrong with it, and are tried again', async () => {
    const fine = new MemorySnapshotter({ volumes: [] })
    const stranger = memoryLocation('one', { provider: 'example.com/none' })
    await refused(
      open(fine).of(stranger, signal),
      'SNAPSHOT_PROVIDER_UNKNOWN',
      /location one .*"example.com\/none"/,
    )
    const keyless = memoryLocation('one', { credential: { name: 'lost', key: 'k' } })
    await refused(
      open(fine).of(keyless, signal),
      'SNAPSHOT_CREDENTIAL_UNREADABLE',
      /location one .*velero\/lost does not exist/,
    )
    const nameless = memoryLocation('one', { credential: { key: 'k' } })
    await refused(open(fine).of(nameless, signal), 'SNAPSHOT_CREDENTIAL_UNREADABLE', /names no secret/)
    const failing = new MemorySnapshotter({ volumes: [], failing: ['init'] })
    await refused(
      open(failing).of(memoryLocation('one'), signal),
      'SNAPSHOT_LOCATION_REFUSED',
      /one .*init does not work/,
    )
    const snapshotters = open(failing)
    for (const _ of [1, 2]) await assert.rejects(snapshotters.of(memoryLocation('two'), signal))
    assert.equal(failing.calls.length, 3)
  })

  it('do not fail for others when the first who wanted one gives up', async () => {
    const memory = new MemorySnapshotter({ volumes: [] })
    const { snapshotter } = memory
    const { promise: firstInit, resolve: initBegan } = Promise.withResolvers<void>()
    let inits = 0
    const builtIns = () => ({
      ...noBuiltInPlugins,
      volumeSnapshotters: {
        'example.com/memory': () => ({
          ...snapshotter,
          init({ signal: given }: { signal?: AbortSignal | undefined }) {
            if (++inits > 1) return Promise.resolve()
            initBegan()
            return new Promise<void>((_, reject) =>
              given?.addEventListener('abort', () => reject(given.reason)),
            )
          },
        }),
      },
    })
    const opener = snapshotterOpener({
      client: undefined as never,
      namespace: 'velero',
      readSecretKey: () => Promise.reject(new Error('none')),
      credentialFiles,
    })
    const snapshotters = opener(createPluginRegistry({ builtIns }).open({ log: silentLogger }))
    const impatient = new AbortController()
    const first = snapshotters.of(memoryLocation('one'), impatient.signal)
    const second = snapshotters.of(memoryLocation('one'), signal)
    await firstInit
    impatient.abort(new Error('no patience'))
    await assert.rejects(first, /no patience/)
    await second
    assert.equal(inits, 2)
  })

  it('that may work later are unavailable to those who ask about snapshots under way; those without a plugin are not', async () => {
    const failing = (code: 'SNAPSHOT_LOCATION_NOT_FOUND' | 'SNAPSHOT_PROVIDER_UNKNOWN'): Snapshotters => {
      const error = new SnapshotLocationError(code, 'one', { reason: 'r', hint: 'h' })
      return { named: () => Promise.reject(error), of: () => Promise.reject(error) }
    }
    const ask = snapshotterOfOperation(failing('SNAPSHOT_LOCATION_NOT_FOUND'))
    await assert.rejects(ask('one', signal), { name: 'PluginError', code: 'UNAVAILABLE' })
    const never = snapshotterOfOperation(failing('SNAPSHOT_PROVIDER_UNKNOWN'))
    await assert.rejects(never('one', signal), { code: 'SNAPSHOT_PROVIDER_UNKNOWN' })
  })
})

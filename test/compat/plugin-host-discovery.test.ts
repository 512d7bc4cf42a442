import assert from 'node:assert/strict'
import { copyFile, readdir, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import type { ActionItem } from '@lateen/plugin'
import { makePluginFolder, type PluginFolder } from './plugin-folder.ts'
import { openPluginHost, type PluginHost } from './plugin-host-scene.ts'

const item: ActionItem = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } }
const backup: Backup = { apiVersion: 'velero.io/v1', kind: 'Backup', metadata: { name: 'b' }, spec: {} }

/** What files in the folder say when they are started, and what the host says of each. */
const says: readonly [name: string, lines: string, warning: RegExp][] = [
  ['exits-0', 'exit 0', /ended with exit code 0 before/],
  ['exits-1', 'echo "no such luck" >&2; exit 1', /exit code 1 .*no such luck/],
  ['exits-2', 'echo "Usage: me" >&2; exit 2', /exit code 2 .*Usage: me/],
  [
    'garbage',
    'echo hello world; sleep 300',
    /"hello world": a plugin was expected to print where it listens/,
  ],
  ['core-2', "echo '2|2|unix|/x|grpc|'; sleep 300", /version 2 of go-plugin's protocol is not 1/],
  ['app-1', "echo '1|1|unix|/x|grpc|'; sleep 300", /version 1 of the plugin protocol is not 2/],
  ['app-3', "echo '1|3|unix|/x|grpc|'; sleep 300", /version 3 of the plugin protocol is not 2/],
  ['udp', "echo '1|2|udp|127.0.0.1:1|grpc|'; sleep 300", /network of type udp/],
  ['netrpc', "echo '1|2|unix|/x|netrpc|'; sleep 300", /speaks netrpc, not grpc/],
  ['old', "echo '1|2|unix|/x'; sleep 300", /speaks netrpc, not grpc/],
  ['short', "echo '1|2|unix'; sleep 300", /a plugin was expected to print where it listens/],
  ['nowhere', "echo '1|2|unix||grpc|'; sleep 300", /does not say where it listens/],
  ['certificate', `echo '1|2|unix|/x|grpc|${'MIIB'.repeat(40)}'; sleep 300`, /wants TLS/],
  ['closes', 'exec 1>&-; sleep 300', /./],
]

describe('a plugins folder with all sorts of programs', { concurrency: false }, () => {
  let folder: PluginFolder
  let host: PluginHost
  const scene = new AsyncDisposableStack()
  const at = (name: string) => path.join(folder.path, name)

  before(async () => {
    folder = scene.use(await makePluginFolder())
    for (const [name, lines] of says) await folder.add(name, `#!/bin/sh\n${lines}\n`)
    await folder.add('not-executable', 'x', 0o644)
    await folder.add('no-interpreter', '#!/no/such/interpreter\n')
    await folder.add('text', 'just some text\n')
    await folder.add('other-processor', `\u007fELF\u0002\u0001\u0001${'\0'.repeat(200)}`)
    await copyFile('/bin/true', at('other-program'))
    await symlink('/nowhere/at/all', at('dangling'))
    await symlink(folder.notes, at('linked-folder'))
    const example = path.resolve(import.meta.dirname, '../../examples/delete-item-action.ts')
    await folder.add('wrong-cookie', `#!/bin/sh\nVELERO_PLUGIN=no exec '${process.execPath}' '${example}'\n`)
    for (const mode of ['text-first', 'nobody-listens', 'no-socket', 'dies-listing']) {
      await folder.script(mode, 'faulty-handshake.ts', [mode, 'example.com/none'])
    }
    await folder.script('below/seven-fields', 'faulty-handshake.ts', ['seven-fields', 'example.com/seven'])
    await folder.script('unknown-kind', 'faulty-handshake.ts', ['unknown-kind', 'example.com/known'])
    await folder.script('bad-name', 'faulty-handshake.ts', ['bad-name', 'example.com/good'])
    await folder.script('both', 'faulty-handshake.ts', ['both-versions', 'example.com/both'])
    await folder.script('twin-1', 'faulty-handshake.ts', ['fine', 'example.com/twin', 'example.com/one'])
    await folder.script('twin-2', 'faulty-handshake.ts', ['fine', 'example.com/twin', 'example.com/two'])
    host = scene.use(await openPluginHost({ folder: folder.path, limits: { lastWordsMs: 5000 } }))
  })
  after(() => scene.disposeAsync())

  const warned = (name: string, reason: RegExp) => {
    const entry = host.warning(at(name))
    assert.ok(entry, `no warning names ${name}`)
    assert.match(String(entry.fields.reason), reason)
    assert.notEqual(entry.fields.hint ?? '', '')
  }

  for (const [name, lines, warning] of says) {
    it(`tells that ${name} is not used, and why: ${lines.slice(0, 50)}`, () => warned(name, warning))
  }

  for (const [name, warning] of [
    ['not-executable', /mode 0644/],
    ['no-interpreter', /interpreter/],
    ['text', /neither a binary nor a script/],
    ['other-processor', /not a program of this system|does not start it/],
    ['other-program', /ended with exit code 0 before/],
    ['dangling', /not there|leads nowhere/],
    ['linked-folder', /folder/],
    ['wrong-cookie', /exit code 1 .*is a plugin of Lateen and Velero/],
    ['text-first', /Starting up, please wait/],
    ['nobody-listens', /ended with exit code 0|nothing listens/],
    ['no-socket', /nothing listens at/],
    ['dies-listing', /ended with exit code 5|does not speak/],
  ] as const) {
    it(`tells that ${name} is not used, and why`, () => warned(name, warning))
  }

  it('leaves out kinds that it does not know and names that are not allowed, and uses the rest', () => {
    const problems = host.log.entries.filter(({ message }) => message === 'a plugin of a program is not used')
    const told = problems.map(
      ({ fields }) => `${path.basename(String(fields.file))}: ${fields.kind} ${fields.name}`,
    )
    for (const expected of [
      'unknown-kind: FutureAction example.com/future',
      'bad-name: BackupItemAction noslash',
      'bad-name: BackupItemAction UPPER.example.com/x',
      'twin-2: BackupItemAction example.com/twin',
    ]) {
      assert.ok(told.includes(expected), `${expected} is not in ${told.join(', ')}`)
    }
  })

  it('has each name once, in the order of the files, and in its newest version', () => {
    const plugins = host.registry.plugins.map(({ kind, name, program = '' }) => [
      path.basename(program),
      kind,
      name,
    ])
    assert.deepEqual(plugins, [
      ['bad-name', 'BackupItemAction', 'example.com/good'],
      ['seven-fields', 'BackupItemAction', 'example.com/seven'],
      ['both', 'BackupItemActionV2', 'example.com/both'],
      ['twin-1', 'BackupItemAction', 'example.com/one'],
      ['twin-1', 'BackupItemAction', 'example.com/twin'],
      ['twin-2', 'BackupItemAction', 'example.com/two'],
      ['unknown-kind', 'BackupItemAction', 'example.com/known'],
    ])
  })

  it('uses what is fine beside what is not', async () => {
    await using session = host.registry.open({ log: host.log })
    const names = session.backupItemActions().map(({ name }) => name)
    assert.deepEqual(names.filter(name => name === 'example.com/both').length, 1)
    for (const name of ['seven', 'both', 'one', 'twin', 'two']) {
      const { unchanged } = await session.backupItemAction(`example.com/${name}`).execute({ item, backup })
      assert.equal(unchanged, true, name)
    }
  })

  it('leaves no process behind', async () => {
    assert.deepEqual(await host.processes(), [])
  })
})

describe('programs that keep their host waiting', () => {
  it('are told of and ended when their time is over', async () => {
    await using folder = await makePluginFolder()
    await folder.add('half-a-line', "#!/bin/sh\nprintf '1|2|unix'; sleep 300\n")
    await folder.add('silent', '#!/bin/sh\nsleep 300\n')
    await folder.script('never-speaks', 'faulty-handshake.ts', ['never-speaks'])
    await using host = await openPluginHost({
      folder: folder.path,
      limits: { handshakeMs: 4000, connectMs: 2000 },
    })
    const reason = (name: string) => String(host.warning(path.join(folder.path, name))?.fields.reason)
    assert.match(reason('half-a-line'), /did not print where it listens within 4 s/)
    assert.match(reason('silent'), /did not print where it listens within 4 s/)
    // On a slow machine it may not have come to its line.
    assert.match(reason('never-speaks'), /does not speak to its host|did not print/)
    assert.deepEqual(host.registry.plugins, [])
    assert.deepEqual(await host.processes(), [])
    await host[Symbol.asyncDispose]()
    const folders = (await readdir(tmpdir())).filter(name =>
      name.startsWith(`lateen-plugins-${process.pid}-`),
    )
    assert.deepEqual(folders, [])
  })
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { bashCompletion } from './bash.ts'
import { completionPoints } from './completion-model.ts'
import { fishCompletion } from './fish.ts'
import { zshCompletion } from './zsh.ts'

function lacks(shell: string): false | string {
  return spawnSync(shell, ['-c', 'true']).error === undefined ? false : `${shell} is not installed`
}

/** What bash offers after these words, as its readline would ask. */
function offered(...words: string[]): string[] {
  const script = [
    'set -u',
    ...bashCompletion(commandTree, globalFlags),
    `COMP_WORDS=(lateen ${words.map(word => `'${word}'`).join(' ')})`,
    `COMP_CWORD=${words.length}`,
    '_lateen',
    `printf "%s\\n" "\${COMPREPLY[@]-}"`,
  ].join('\n')
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.equal(stderr, '')
  return stdout.split('\n').filter(Boolean)
}

describe('bash completion', { skip: lacks('bash') }, () => {
  it('offers commands', () => {
    assert.deepEqual(offered('back'), ['backup', 'backup-location'])
    assert.deepEqual(offered('backup-location', ''), ['create', 'delete', 'get', 'set'])
    assert.deepEqual(offered('get', ''), [
      'backups',
      'backup-locations',
      'plugins',
      'restores',
      'schedules',
      'snapshot-locations',
    ])
  })

  it('offers the flags of the command and the global ones', () => {
    assert.deepEqual(offered('backup-location', 'set', 'a', '--c'), [
      '--cacert',
      '--credential',
      '--colorized',
    ])
    assert.deepEqual(offered('get', 'backup-location', '--sh'), ['--show-labels'])
  })

  it('offers the values of flags and arguments where they are known', () => {
    assert.deepEqual(offered('backup-location', 'get', '-o', ''), ['table', 'json', 'yaml', 'name'])
    assert.deepEqual(offered('backup-location', 'get', '--output', '=', 'y'), ['yaml'])
    assert.deepEqual(offered('backup-location', 'create', '--access-mode', '='), ['ReadWrite', 'ReadOnly'])
    assert.deepEqual(offered('completion', ''), ['bash', 'zsh', 'fish'])
  })

  it('does not take the value of a flag for a command', () => {
    assert.deepEqual(offered('-n', 'get', 'client', ''), ['config'])
    assert.deepEqual(offered('--namespace', '=', 'get', 'client', ''), ['config'])
  })
})

describe('zsh completion', { skip: lacks('zsh') }, () => {
  it('is a script that zsh can source', () => {
    const script = [
      'autoload -Uz compinit',
      'compinit -u -D',
      ...zshCompletion(commandTree, globalFlags),
    ].join('\n')
    const { status, stderr } = spawnSync(
      'zsh',
      ['-f', '-c', `${script}\n_lateen_step "" client; [[ $REPLY == client ]]`],
      {
        encoding: 'utf8',
      },
    )
    assert.equal(status, 0, stderr)
  })
})

describe('fish completion', { skip: lacks('fish') }, () => {
  it('offers commands and flag values', async t => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-fish-'))
    t.after(() => rm(folder, { recursive: true }))
    // The script is longer than an argument may be, and fish reads no sockets.
    const file = path.join(folder, 'lateen.fish')
    await writeFile(file, fishCompletion(commandTree, globalFlags).join('\n'))
    const ask = (line: string) =>
      spawnSync('fish', ['--no-config', '-c', `source ${file}; complete -C '${line}'`], { encoding: 'utf8' })
        .stdout.split('\n')
        .map(offer => offer.split('\t')[0])
        .filter(Boolean)
    assert.deepEqual(ask('lateen backup-location '), ['create', 'delete', 'get', 'set'])
    assert.deepEqual(ask('lateen backup-location get -o '), ['json', 'name', 'table', 'yaml'])
  })
})

describe('completionPoints', () => {
  it('has a point for every command, and the global flags at each', () => {
    const points = completionPoints(commandTree, globalFlags)
    const paths = points.map(point => point.path)
    assert.ok(paths.includes('') && paths.includes('client config set') && paths.includes('server'))
    for (const point of points) {
      assert.ok(
        point.flags.some(flag => flag.name === 'kubeconfig'),
        point.path,
      )
    }
  })
})

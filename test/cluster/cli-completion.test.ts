import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { freePort } from '../../tools/test/free-port.ts'
import { type Ended, ended, lateenFor } from './cli-runner.ts'

const given = await givenCluster({})
const namespace = `cli-completion-${randomBytes(3).toString('hex')}`
const folder = await mkdtemp(path.join(tmpdir(), 'lateen-completion-'))
after(() => rm(folder, { recursive: true }))
const bin = path.join(folder, 'bin')

/** What the program prints in a shell that finds `lateen` and its kubectl plugin in the path, as npm would put them there. */
function inShell(file: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return ended(file, args, {
    stdin: '',
    env: {
      PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH}`,
      HOME: folder,
      TERM: 'xterm',
      KUBECONFIG: given.cluster.kubeconfigPath,
      VELERO_NAMESPACE: namespace,
      LATEEN_COMPLETION_TIMEOUT: '30s',
      ...env,
    },
  })
}

/** A kubeconfig that leads nowhere. */
async function nowhere(): Promise<Record<string, string>> {
  const server = `https://127.0.0.1:${await freePort()}`
  const file = path.join(folder, 'nowhere')
  await given.cluster.kubectl(['config', 'set-cluster', 'c', `--server=${server}`, `--kubeconfig=${file}`])
  await given.cluster.kubectl(['config', 'set-context', 'c', '--cluster=c', `--kubeconfig=${file}`])
  await given.cluster.kubectl(['config', 'use-context', 'c', `--kubeconfig=${file}`])
  return { KUBECONFIG: file }
}

describe('completion with names of the cluster', { skip: given.skip }, () => {
  before(async () => {
    await mkdir(bin)
    const source = path.resolve(import.meta.dirname, '../../packages/cli/bin')
    for (const name of ['lateen', 'kubectl-lateen', 'kubectl_complete-lateen']) {
      await symlink(path.join(source, `${name}.js`), path.join(bin, name))
    }
    await symlink(await tool('kubectl'), path.join(bin, 'kubectl'))
    const lateen = await lateenFor(given.cluster.kubeconfigPath)
    const installed = await lateen(['install', '--crds-only'])
    assert.equal(installed.status, 0, installed.stderr)
    await given.cluster.kubectl(['create', 'namespace', namespace])
    for (const args of [
      ['backup', 'create', 'shop-one'],
      ['backup', 'create', 'shop-two'],
      ['schedule', 'create', 'nightly', '--schedule=@daily'],
      ['backup-location', 'create', 'files', '--provider=filesystem', '--bucket=b'],
    ]) {
      const made = await lateen(['-n', namespace, ...args])
      assert.equal(made.status, 0, made.stderr)
    }
  })

  after(() => given.cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']))

  describe('in bash', () => {
    async function offered(words: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
      const script = [
        'source <(lateen completion bash)',
        `COMP_WORDS=(lateen ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`,
        '_lateen; printf "%s\\n" "$' + '{COMPREPLY[@]-}"',
      ].join('\n')
      const { status, stdout, stderr } = await inShell('bash', ['--norc', '-c', script], env)
      assert.deepEqual([status, stderr], [0, ''])
      return stdout.split('\n').filter(Boolean)
    }

    it('offers names of objects as arguments, but none twice', async () => {
      assert.deepEqual(await offered(['backup', 'describe', '']), ['shop-one', 'shop-two'])
      assert.deepEqual(await offered(['backup', 'describe', 'shop-one', '']), ['shop-two'])
      assert.deepEqual(await offered(['get', 'schedule', 'n']), ['nightly'])
    })

    it('offers names of objects and namespaces as values of flags', async () => {
      assert.deepEqual(await offered(['restore', 'create', '--from-backup', 'shop-o']), ['shop-one'])
      assert.deepEqual(await offered(['restore', 'create', '--from-schedule', '=', 'n']), ['nightly'])
      assert.deepEqual(await offered(['-n', namespace.slice(0, -1)]), [namespace])
    })

    it('asks the cluster and namespace that the words before name', async () => {
      assert.deepEqual(await offered(['-n', 'no-such-namespace', 'backup', 'describe', '']), [])
    })

    it('offers nothing and says nothing when the cluster does not answer', async () => {
      assert.deepEqual(await offered(['backup', 'describe', ''], await nowhere()), [])
    })
  })

  describe('in zsh', async () => {
    it('puts the only name that fits into the line', async () => {
      // A terminal of its own: completion works in no other.
      const script = [
        'zmodload zsh/zpty',
        'zpty terminal zsh -f -i',
        "zpty -w terminal 'PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D'",
        "zpty -w terminal 'source <(lateen completion zsh); print prepared-$((1+1))'",
        "zpty -r terminal line '*prepared-2*'",
        "zpty -n -w terminal $'lateen backup describe shop-t\\t'",
        "zpty -r terminal line '*shop-two*' && print found",
        'zpty -d terminal',
      ].join('\n')
      const { stdout, stderr } = await inShell(await tool('zsh'), ['-f', '-c', script])
      assert.match(stdout, /found/, stderr)
    })
  })

  describe('in fish', () => {
    async function offered(line: string, env: Record<string, string> = {}): Promise<string[]> {
      const script = `lateen completion fish | source; complete -C '${line}'`
      const { status, stdout, stderr } = await inShell(await tool('fish'), ['--no-config', '-c', script], env)
      assert.deepEqual([status, stderr], [0, ''])
      return stdout
        .split('\n')
        .map(offer => offer.split('\t')[0] ?? '')
        .filter(Boolean)
    }

    it('offers names of objects as arguments and values of flags', async () => {
      assert.deepEqual(await offered('lateen backup describe '), ['shop-one', 'shop-two'])
      assert.deepEqual(await offered('lateen backup create x --storage-location f'), ['files'])
      assert.deepEqual(await offered('lateen restore create --from-backup=shop-t'), [
        '--from-backup=shop-two',
      ])
    })

    it('offers nothing and says nothing when the cluster does not answer', async () => {
      assert.deepEqual(await offered('lateen backup describe ', await nowhere()), [])
    })
  })

  describe('as a plugin of kubectl', () => {
    it('runs as kubectl lateen, and says so in its help and its hints', async () => {
      const got = await inShell('kubectl', ['lateen', 'backup', 'get', '-o', 'name'])
      assert.deepEqual(got, {
        status: 0,
        stdout: 'backup.velero.io/shop-one\nbackup.velero.io/shop-two\n',
        stderr: '',
      })
      const { stdout } = await inShell('kubectl', ['lateen', 'backup', 'get', '--help'])
      assert.match(stdout, /Usage:\n {2}kubectl lateen backup get \[NAMES\] \[flags\]\n/)
      assert.match(stdout, /Examples:\n {2}kubectl lateen backup get\n/)
      const missing = await inShell('kubectl', ['lateen', 'backup', 'get', 'nope'])
      assert.equal(missing.status, 1)
      assert.match(missing.stderr, /'kubectl lateen backup get' lists those that do/)
    })

    it('completes names through kubectl', async () => {
      const { status, stdout } = await inShell('kubectl', [
        '__complete',
        'lateen',
        'backup',
        'describe',
        'shop',
      ])
      assert.deepEqual([status, stdout], [0, 'shop-one\nshop-two\n:4\n'])
    })

    it('is on the list of plugins', async () => {
      const { stdout } = await inShell('kubectl', ['plugin', 'list'])
      assert.match(stdout, /\/kubectl-lateen\n/)
    })
  })
})

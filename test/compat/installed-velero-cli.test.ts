import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import { runCommand } from '../../tools/binaries/run-command.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'
import { lateenImageName } from '../../tools/image/lateen-image.ts'
import { veleroImageName } from '../../tools/velero/velero-images.ts'
import { bothPrograms, type Program } from './both-programs.ts'
import {
  debugBundle,
  makingLines,
  objectLines,
  type Place,
  removingLines,
  showingLines,
} from './cli-session.ts'
import { deliverBothImages, installWords, serverReplaced } from './node-installation.ts'
import { type VeleroCommand, veleroTree } from './velero-tree.ts'
import { withoutEmpty } from './without-empty.ts'

const given = await givenCluster({ node: true, s3: true, own: true })
const both = await bothPrograms(given)
const { folder } = both
const data = 'shop'
/** Commands for pods. */
const inCluster = /^(server|node-agent|run-plugins|repo-maintenance|data-mover|pod-volume)\b/

/** Only volumes make one by themselves. */
const repository = {
  apiVersion: 'velero.io/v1',
  kind: 'BackupRepository',
  metadata: { name: 'shop-default-kopia' },
  spec: {
    ...{ volumeNamespace: data, backupStorageLocation: 'default', repositoryType: 'kopia' },
    ...{ maintenanceFrequency: '1h0m0s', resticIdentifier: '' },
  },
}

interface World extends Omit<Place, 's3'> {
  /** Who types. */
  readonly program: Program
  /** Whose server answers. */
  readonly server: Program
}

const worlds: readonly World[] = [
  { program: 'velero', server: 'lateen', namespace: 'velero', data, folder },
  { program: 'lateen', server: 'velero', namespace: 'theirs', data, folder },
]

describe('an installed server and the other program', { skip: both.skip, concurrency: false }, () => {
  const { kubectl } = given.skip ? { kubectl: async () => '' } : given.cluster
  const typed = new Map<Program, string[]>([
    ['velero', ['install', 'uninstall']],
    ['lateen', ['install', 'uninstall']],
  ])
  let browser: string
  let tree: Promise<VeleroCommand[]>

  before(async () => {
    tree = veleroTree(await tool('velero'))
    browser = await makeBrowser()
    await deliverBothImages(given.cluster)
    await kubectl(['create', 'namespace', data])
    await kubectl(['create', 'configmap', 'things', '-n', data, '--from-literal=a=b'])
    for (const { server, namespace } of worlds) {
      const image = server === 'velero' ? veleroImageName : lateenImageName
      const words = await installWords(given.cluster, { image, prefix: namespace, folder })
      await both.run(server, ['-n', namespace, ...words])
      await serverReplaced(given.cluster, namespace)
      const available = ['wait', '--for=jsonpath={.status.phase}=Available', 'backupstoragelocation/default']
      await kubectl([...available, '-n', namespace, '--timeout=180s'])
    }
  })

  /** A browser for `bug`, which writes down what it is to open. */
  async function makeBrowser(): Promise<string> {
    const bin = path.join(folder, 'bin')
    await runCommand('mkdir', ['-p', bin])
    const script = `#!/bin/sh\necho "$@" >> ${folder}/opened\n`
    for (const name of ['xdg-open', 'x-www-browser', 'www-browser']) {
      await writeFile(path.join(bin, name), script, { mode: 0o755 })
    }
    // Velero's debug calls it.
    await runCommand('ln', ['-s', await tool('kubectl'), path.join(bin, 'kubectl')])
    return `${bin}:${process.env.PATH}`
  }

  async function type({ program, namespace }: World, words: readonly string[]): Promise<string> {
    typed.get(program)?.push(words.filter(word => !word.startsWith('-')).join(' '))
    return both.run(program, ['-n', namespace, ...words], { PATH: browser })
  }

  /**
   * Both answers, seen in the same way, in a moment in which the server changed nothing between them. It looks at each location once a minute,
   * and writes that down.
   */
  async function answers<T>(
    world: World,
    words: readonly string[],
    see: (text: string) => T,
  ): Promise<[ours: T, theirs: T]> {
    const full = ['-n', world.namespace, '--colorized=false', ...words]
    const deadline = performance.now() + 90_000
    for (;;) {
      const [ours, theirs] = await Promise.all([both.run('lateen', full), both.run('velero', full)])
      const seen: [T, T] = [see(ours.replaceAll('`lateen ', '`velero ')), see(theirs)]
      if (isDeepStrictEqual(...seen) || performance.now() > deadline) return seen
    }
  }

  /** What the session has downloaded, and what it has shown in the browser. */
  async function leftFiles({ program, namespace }: World): Promise<void> {
    const archive = path.join(folder, `${namespace}.tar.gz`)
    assert.match(
      await runCommand('tar', ['-tzf', archive]),
      /^resources\/configmaps\/namespaces\/shop\/things\.json$/m,
    )
    if (program === 'velero') {
      assert.match(await readFile(path.join(folder, 'opened'), 'utf8'), /^https:\/\/\S+\n$/)
    }
    const files = await runCommand('tar', ['-tzf', debugBundle(folder, namespace)])
    for (const part of ['version.txt', 'backup_one.log', 'restore_first.log', 'pods', 'velero.log']) {
      assert.ok(files.includes(part), `${part} is not in ${files}`)
    }
  }

  for (const world of worlds) {
    const { program, server, namespace } = world
    describe(`${program} at a server of ${server}`, { concurrency: false }, () => {
      it('makes one of everything, and follows it to its end', async () => {
        for (const { words, says } of makingLines({ ...world, s3: given.cluster.s3 })) {
          assert.match(await type(world, words), says, words.join(' '))
        }
        for (const name of ['first', 'second']) {
          const value = ['configmap', 'things', '-n', `${namespace}-${name}`, '-o=jsonpath={.data.a}']
          assert.equal(await kubectl(['get', ...value]), 'b')
        }
        await leftFiles(world)
      })

      it('shows what the other program shows', async () => {
        await kubectl(['apply', '-n', namespace, '-f', '-'], { stdin: JSON.stringify(repository) })
        for (const words of showingLines) {
          typed.get(program)?.push(words.filter(word => !word.startsWith('-')).join(' '))
          const [ours, theirs] = await answers(world, words, text => text)
          assert.equal(ours, theirs, words.join(' '))
          assert.ok(theirs.trim().split('\n').length > 1, words.join(' '))
        }
      })

      it('prints the objects that the other program prints', async () => {
        for (const [at, words] of objectLines.entries()) {
          const printing = [...words, '-o', at % 2 === 0 ? 'json' : 'yaml']
          const [ours, theirs] = await answers(world, printing, text => comparable(parse(text)))
          assert.deepEqual(ours, theirs, words.join(' '))
        }
      })

      it('removes everything again', async () => {
        for (const { words, says } of removingLines) {
          assert.match(await type(world, words), says, words.join(' '))
        }
        // Velero shows schedules and repositories of all namespaces: those of one world must not be seen in the other.
        await kubectl(['delete', 'backuprepositories.velero.io', '--all', '-n', namespace])
        const kinds =
          'restores.velero.io,schedules.velero.io,backups.velero.io,deletebackuprequests.velero.io'
        let left = ''
        await waitUntil(
          async () => {
            left = await kubectl(['get', kinds, '-n', namespace, '-o', 'name'])
            return !/\/(one|two|first|second|often|daily)$/m.test(left)
          },
          { timeoutMs: 120_000, failure: () => new Error(`these stay: ${left}`), everyMs: 300 },
        )
      })
    })
  }

  it('is uninstalled by the other program, which leaves nothing', async () => {
    for (const world of worlds) {
      // The first removes the kinds that the second has, too.
      await both.run('velero', ['install', '--crds-only'])
      await both.run(world.program, ['-n', world.namespace, 'uninstall', '--force'])
      // Velero has its kinds deleted and does not wait until they are gone.
      if (world.program === 'velero') {
        await waitUntil(async () => (await left(world)).length === 0, {
          timeoutMs: 90_000,
          failure: async () => new Error(`these stay: ${await left(world)}`),
        })
      }
      assert.deepEqual(await left(world), [])
    }
  })

  /** What of an installation is there. */
  async function left({ namespace }: World): Promise<string[]> {
    const all = await kubectl(['get', 'namespaces,clusterroles,clusterrolebindings,crds', '-o', 'name'])
    const ours = ['.velero.io', `/${namespace}`, `/velero-${namespace}`]
    return all.split('\n').filter(name => ours.some(end => name.endsWith(end)))
  }

  it('was asked for everything that velero can do', async () => {
    const paths = (await tree).map(command => command.path)
    const leaves = paths.filter(
      name => name !== '' && !inCluster.test(name) && !paths.some(other => other.startsWith(`${name} `)),
    )
    assert.ok(leaves.length > 40)
    for (const [program, lines] of typed) {
      const missing = leaves.filter(leaf => !lines.some(said => `${said} `.startsWith(`${leaf} `)))
      assert.deepEqual(missing, [], program)
    }
  })
})

/** Velero prints what its types hold: nothing that is zero or false, and of a list where it stands in the cluster's history. */
function comparable(printed: { items?: object[]; metadata: object }): unknown {
  const { metadata, ...list } = printed
  const object = printed.items === undefined ? { ...list, metadata } : list
  return withoutEmpty(JSON.parse(JSON.stringify(object), (_key, part) => part || undefined))
}

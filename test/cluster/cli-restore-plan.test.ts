import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { openServerScene, type ServerScene } from './backup-server-scene.ts'
import { type Ended, type Lateen, lateenFor } from './cli-runner.ts'
import { configMap, handsOn } from './restore-harness.ts'

const given = await givenCluster({ s3: true })

describe('lateen restore plan', { skip: given.skip, concurrency: false }, () => {
  let scene: ServerScene
  let lateen: Lateen
  const { create } = handsOn({ kubectl: (...args) => given.cluster.kubectl(...args) })
  const base64 = (text: string): string => Buffer.from(text).toString('base64')

  function plan(...args: string[]): Promise<Ended> {
    return lateen(['-n', scene.namespace, 'restore', 'plan', ...args])
  }

  before(async () => {
    lateen = await lateenFor(given.cluster.kubeconfigPath)
    scene = await openServerScene(given.cluster, 'cli-plan')
    await scene.start()
    const { data: namespace } = scene
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 'keys' } }
    await create(
      configMap({ namespace, name: 'same' }, { v: '1' }),
      configMap({ namespace, name: 'web' }, { color: 'blue' }),
      configMap({ namespace, name: 'lost' }, { v: '1' }),
      { ...secret, data: { k: base64('before') } },
    )
    const taken = await scene.backups.take('shop', { includedNamespaces: [namespace] })
    assert.equal(taken.status?.phase, 'Completed')
    await given.cluster.kubectl(['delete', 'cm', 'lost', '-n', namespace])
    const patch = (kind: string, name: string, data: object) =>
      given.cluster.kubectl(['patch', kind, name, '-n', namespace, '-p', JSON.stringify({ data })])
    await patch('cm', 'web', { color: 'red' })
    await patch('secret', 'keys', { k: base64('after') })
  })

  after(() => scene[Symbol.asyncDispose]())

  it('prints a table with totals, warnings and errors, and ends with 0 when there would be no error', async () => {
    const { stdout, stderr, status } = await plan(
      '--from-backup',
      'shop',
      '--include-resources',
      'configmaps',
    )
    assert.equal(stderr, '')
    assert.match(stdout, /^KIND +NAMESPACE +NAME +ACTION +REASON\n/)
    assert.match(stdout, /\nConfigMap +\S+ +lost +create +it was not there\n/)
    assert.match(stdout, /\nConfigMap +\S+ +same +skip +it is there and the same\n/)
    assert.match(stdout, /\nConfigMap +\S+ +web +fail +could not restore, ConfigMap:web already exists\./)
    assert.match(
      stdout,
      /\nPlan of a restore from backup shop: \d+ objects: 1 create, 0 update, \d+ skip, 1 fail\. Nothing was written\.\n/,
    )
    assert.match(stdout, /\nWarnings:\n.*already exists/s)
    assert.equal(status, 0)
  })

  it('plans into namespaces that do not exist', async () => {
    const { stdout, status } = await plan(
      '--from-backup',
      'shop',
      '--namespace-mappings',
      `${scene.data}:cli-plan-copy`,
    )
    assert.match(
      stdout,
      /\nConfigMap +cli-plan-copy +web +create \(not dry-run: namespace absent\) +it was not there\n/,
    )
    assert.match(stdout, /\nNamespace +cli-plan-copy +create +it was not there\n/)
    assert.equal(status, 0)
  })

  it('prints a diff against the live objects, with Secrets masked unless asked for', async () => {
    const args = ['--from-backup', 'shop', '--existing-resource-policy', 'update', '-o', 'diff']
    const { stdout, status } = await plan(...args)
    assert.equal(status, 0, stdout)
    const place = `v1/ConfigMap/${scene.data}/web`
    assert.ok(
      stdout.includes(
        `# update ConfigMap ${scene.data}/web: it was different\n--- live/${place}\n+++ planned/${place}\n@@ `,
      ),
      stdout,
    )
    assert.match(stdout, /\n data:\n- {2}color: red\n\+ {2}color: blue\n/)
    assert.match(stdout, /\n- {2}k: <masked \w+>\n\+ {2}k: <masked \w+>\n/)
    assert.ok(!stdout.includes(base64('before')) && !stdout.includes(base64('after')))
    const open = await plan(...args, '--show-secrets')
    assert.ok(open.stdout.includes(`-  k: ${base64('after')}\n+  k: ${base64('before')}\n`), open.stdout)
  })

  it('plans an existing restore, and prints it as JSON and YAML', async () => {
    const flags = ['--from-backup', 'shop', '--existing-resource-policy', 'update']
    const created = await lateen(['-n', scene.namespace, 'restore', 'create', 'again', ...flags, '--wait'])
    assert.equal(created.status, 0, created.stdout + created.stderr)
    const { stdout, stderr } = await plan('again', '-o', 'json')
    assert.equal(stderr, '')
    const json = JSON.parse(stdout)
    assert.equal(json.counts.skip, json.items.length)
    assert.equal(json.errors, 0)
    const { stdout: text } = await plan('again', '-o', 'yaml')
    assert.deepEqual(parse(text), json)
  })

  it('plans from a folder, without a server', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-plan-local-'))
    try {
      const taken = await lateen([
        'backup',
        'create',
        'here',
        '--include-namespaces',
        scene.data,
        '--local',
        folder,
      ])
      assert.equal(taken.status, 0, taken.stderr)
      await given.cluster.kubectl(['delete', 'cm', 'same', '-n', scene.data])
      const { stdout, stderr, status } = await plan('--from-backup', 'here', '--local', folder)
      assert.equal(stderr, '')
      assert.match(stdout, /\nConfigMap +\S+ +same +create +it was not there\n/)
      assert.equal(status, 0)
      const missing = await plan('--from-backup', 'never', '--local', folder)
      assert.match(missing.stderr, /there is no backup never in .* \(it has here\)/)
      assert.equal(missing.status, 1)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('says what is wrong with what it was asked', async () => {
    const cases: [string[], RegExp][] = [
      [[], /either a backup or schedule must be specified, but not both/],
      [['--from-backup', 'never'], /backup "never" does not exist in namespace /],
      [
        ['--from-schedule', 'never'],
        /FailedValidation: No backups found for schedule; No completed backups found/,
      ],
      [
        ['again', '--include-namespaces', 'x'],
        /--include-namespaces has no effect on the plan of an existing restore/,
      ],
      [['--from-backup', 'shop', '--namespace-mappings', 'a:b,c:b'], /FailedValidation: .*b/],
    ]
    for (const [args, message] of cases) {
      const { stderr, status } = await plan(...args)
      assert.match(stderr, message)
      assert.match(stderr, /^An error occurred: [^\n]+\n$/)
      assert.equal(status, 1)
    }
  })
})

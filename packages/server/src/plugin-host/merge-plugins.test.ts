import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PluginKind } from '@lateen/plugin'
import { usablePlugins } from './discover-programs.ts'
import { type MergeOptions, mergePlugins } from './merge-plugins.ts'

type Written = `${PluginKind} ${string}`

function pluginsOf(written: readonly Written[]) {
  return written.map(each => {
    const [kind, name = ''] = each.split(' ')
    return { kind: kind as PluginKind, name }
  })
}

function merged(programs: Readonly<Record<string, Written[]>>, more: Partial<MergeOptions> = {}) {
  const { plugins, problems } = mergePlugins({
    builtIns: pluginsOf(['BackupItemAction velero.io/pod', 'ObjectStore velero.io/aws']),
    programs: Object.entries(programs).map(([file, written]) => ({ file, plugins: pluginsOf(written) })),
    preferExternal: false,
    ...more,
  })
  return {
    plugins: plugins.map(({ kind, name, program }) => [kind, name, ...(program ? [program] : [])].join(' ')),
    problems: problems.map(({ file, kind, name }) => `${file}: ${kind} ${name}`),
    reasons: problems.map(({ reason, hint }) => `${reason}. ${hint}`),
  }
}

describe('The plugins of a server', () => {
  it('are its own, then those of programs in the order of their files', () => {
    const { plugins, problems } = merged({
      '/p/a': ['BackupItemAction x/b', 'RestoreItemActionV2 x/a'],
      '/p/b': ['BackupItemAction x/a'],
    })
    assert.deepEqual(plugins, [
      'BackupItemAction velero.io/pod',
      'ObjectStore velero.io/aws',
      'BackupItemAction x/b /p/a',
      'RestoreItemActionV2 x/a /p/a',
      'BackupItemAction x/a /p/b',
    ])
    assert.deepEqual(problems, [])
  })

  it('have a name once for each kind, whichever the version: the newest of a program, the first of several', () => {
    const { plugins, problems, reasons } = merged(
      {
        '/p/a': [
          'BackupItemAction x/a',
          'BackupItemActionV2 x/a',
          'BackupItemActionV3 x/b',
          'BackupItemAction x/b',
        ],
        '/p/b': ['BackupItemActionV3 x/a', 'RestoreItemAction x/a'],
      },
      { builtIns: [] },
    )
    assert.deepEqual(plugins, [
      'BackupItemActionV2 x/a /p/a',
      'BackupItemActionV3 x/b /p/a',
      'RestoreItemAction x/a /p/b',
    ])
    assert.deepEqual(problems, ['/p/b: BackupItemActionV3 x/a'])
    assert.match(reasons[0] ?? '', /\/p\/a has a plugin of that kind and name already/)
  })

  it('of programs give way to those of the server', () => {
    const programs: Record<string, Written[]> = {
      '/p/aws': [
        'VolumeSnapshotter velero.io/aws',
        'ObjectStore velero.io/aws',
        'BackupItemActionV2 velero.io/pod',
      ],
    }
    const { plugins, problems, reasons } = merged(programs)
    assert.deepEqual(plugins, [
      'BackupItemAction velero.io/pod',
      'ObjectStore velero.io/aws',
      'VolumeSnapshotter velero.io/aws /p/aws',
    ])
    assert.deepEqual(problems, [
      '/p/aws: ObjectStore velero.io/aws',
      '/p/aws: BackupItemActionV2 velero.io/pod',
    ])
    assert.match(reasons[0] ?? '', /--prefer-external-plugins/)
  })

  it('of programs take the place of those of the server where they are preferred', () => {
    const { plugins, problems } = merged(
      {
        '/p/aws': ['ObjectStore velero.io/aws', 'BackupItemActionV2 velero.io/pod'],
        '/p/b': ['ObjectStore velero.io/aws'],
      },
      { preferExternal: true },
    )
    assert.deepEqual(plugins, ['ObjectStore velero.io/aws /p/aws', 'BackupItemActionV2 velero.io/pod /p/aws'])
    assert.deepEqual(problems, ['/p/b: ObjectStore velero.io/aws'])
  })
})

describe("A program's list of plugins", () => {
  it('is in the order of kinds, then of names', () => {
    const listed = [
      { kind: 'ItemBlockAction', name: 'x/a' },
      { kind: 'BackupItemActionV2', name: 'x/a' },
      { kind: 'BackupItemAction', name: 'x/z' },
      { kind: 'BackupItemAction', name: 'x/b' },
    ]
    const { plugins } = usablePlugins(listed)
    assert.deepEqual(
      plugins.map(({ kind, name }) => `${kind} ${name}`),
      ['BackupItemAction x/b', 'BackupItemAction x/z', 'BackupItemActionV2 x/a', 'ItemBlockAction x/a'],
    )
  })

  it('loses what cannot be used, with a reason for each', () => {
    const { plugins, problems } = usablePlugins([
      { kind: 'ItemSnapshotter', name: 'x/a' },
      { kind: 'ObjectStore', name: 'plain' },
      { kind: 'ObjectStore', name: 'x/a' },
      { kind: 'ObjectStore', name: 'x/a' },
    ])
    assert.deepEqual(plugins, [{ kind: 'ObjectStore', name: 'x/a' }])
    assert.deepEqual(
      problems.map(({ reason }) => reason),
      [
        'this server does not know its kind',
        'its name is not allowed: it must have two parts joined by one "/"',
        'the program lists it twice',
      ],
    )
  })
})

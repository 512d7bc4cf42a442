import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { portableKeyProblem } from '@lateen/plugin'
import { bucketLayout, normalizePrefix, topLevelFolders } from './bucket-layout.ts'

describe('normalizePrefix', () => {
  const spellings: [string | undefined, string][] = [
    [undefined, ''],
    ['', ''],
    ['/', ''],
    ['a', 'a/'],
    ['/a/b/', 'a/b/'],
    ['//a//', 'a/'],
    // Velero joins paths.
    ['a//b', 'a/b/'],
  ]
  for (const [given, normalized] of spellings) {
    it(`turns ${JSON.stringify(given)} into ${JSON.stringify(normalized)}`, () =>
      assert.equal(normalizePrefix(given), normalized))
  }
})

describe('bucketLayout', () => {
  const plain = bucketLayout(undefined)
  const prefixed = bucketLayout('/team/a/')

  it('takes no folder for a backup whose name would lead to other folders', () => {
    for (const name of ['.', '..', '', 'a/b']) {
      assert.equal(plain.backupOfFolder(`backups/${name}/`), undefined)
    }
    assert.equal(plain.backupOfFolder('backups/..a/'), '..a')
  })

  it('places the files of a backup where Velero does', () => {
    assert.equal(plain.backupFolder('b1'), 'backups/b1/')
    assert.equal(plain.backupKey('b1', 'metadata'), 'backups/b1/velero-backup.json')
    assert.equal(plain.backupKey('b1', 'contents'), 'backups/b1/b1.tar.gz')
    assert.equal(plain.backupKey('b1', 'log'), 'backups/b1/b1-logs.gz')
    assert.equal(plain.backupKey('b1', 'podVolumeBackups'), 'backups/b1/b1-podvolumebackups.json.gz')
    assert.equal(plain.backupKey('b1', 'volumeSnapshots'), 'backups/b1/b1-volumesnapshots.json.gz')
    assert.equal(plain.backupKey('b1', 'itemOperations'), 'backups/b1/b1-itemoperations.json.gz')
    assert.equal(plain.backupKey('b1', 'resourceList'), 'backups/b1/b1-resource-list.json.gz')
    assert.equal(plain.backupKey('b1', 'results'), 'backups/b1/b1-results.gz')
    assert.equal(plain.backupKey('b1', 'volumeInfo'), 'backups/b1/b1-volumeinfo.json.gz')
  })

  it('knows the files that older versions wrote', () => {
    assert.equal(plain.backupKey('b', 'csiVolumeSnapshots'), 'backups/b/b-csi-volumesnapshots.json.gz')
    const contents = plain.backupKey('b', 'csiVolumeSnapshotContents')
    assert.equal(contents, 'backups/b/b-csi-volumesnapshotcontents.json.gz')
    const classes = plain.backupKey('b', 'csiVolumeSnapshotClasses')
    assert.equal(classes, 'backups/b/b-csi-volumesnapshotclasses.json.gz')
    assert.equal(plain.resticFolder('ns'), 'restic/ns/')
  })

  it('places the files of a restore where Velero does, volume info without the restore- prefix', () => {
    assert.equal(plain.restoreFolder('r1'), 'restores/r1/')
    assert.equal(plain.restoreKey('r1', 'log'), 'restores/r1/restore-r1-logs.gz')
    assert.equal(plain.restoreKey('r1', 'results'), 'restores/r1/restore-r1-results.gz')
    assert.equal(plain.restoreKey('r1', 'resourceList'), 'restores/r1/restore-r1-resource-list.json.gz')
    assert.equal(plain.restoreKey('r1', 'itemOperations'), 'restores/r1/restore-r1-itemoperations.json.gz')
    assert.equal(plain.restoreKey('r1', 'volumeInfo'), 'restores/r1/r1-volumeinfo.json.gz')
  })

  it('places journals below the backup that they have to do with, in names that fit for any name of theirs', () => {
    const long = 'n'.repeat(253)
    assert.equal(
      plain.journalKey({ of: 'backup', name: 'b1' }, 12),
      'backups/b1/lateen-operations/backup/00000012.json',
    )
    assert.equal(
      plain.journalKey({ of: 'restore', name: 'r1', backup: 'b1' }, 1),
      'backups/b1/lateen-operations/restores/r1/00000001.json',
    )
    const longest = plain.journalKey({ of: 'restore', name: long, backup: long }, 99_999_999)
    assert.equal(portableKeyProblem(longest), undefined)
  })

  it('puts everything below the prefix', () => {
    assert.equal(prefixed.root, 'team/a/')
    assert.equal(prefixed.backupKey('b1', 'contents'), 'team/a/backups/b1/b1.tar.gz')
    assert.equal(prefixed.kopiaFolder('default'), 'team/a/kopia/default/')
    for (const name of topLevelFolders) assert.equal(prefixed.folder(name), `team/a/${name}/`)
  })

  it('does not read replacement patterns in a name', () => {
    assert.equal(plain.backupKey('$&', 'contents'), 'backups/$&/$&.tar.gz')
  })

  it('reads the name of a backup back from its folder', () => {
    assert.equal(prefixed.backupOfFolder('team/a/backups/b1/'), 'b1')
    assert.equal(prefixed.backupOfFolder('backups/b1/'), undefined)
    assert.equal(prefixed.backupOfFolder('team/a/backups/'), undefined)
    assert.equal(prefixed.backupOfFolder('team/a/backups/b1/x/'), undefined)
  })
})

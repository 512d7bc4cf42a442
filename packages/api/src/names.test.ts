import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  backupRepositoryLabels,
  backupRepositoryName,
  backupSelector,
  generateNameFor,
  nameOrHash,
  restoreSelector,
  snapshotGenerateName,
  validLabelValue,
} from './names.ts'

// Digests from Python 3: hashlib.sha256(name).hexdigest()[:6] and hashlib.sha3_224(name).hexdigest().
const long = [
  {
    name: 'a'.repeat(64),
    label: `${'a'.repeat(57)}ffe054`,
    hash: 'ce06309528da04278a8072ca96610a47298cbca3a9b6a0ee7f581316',
  },
  {
    name: 'the-backup-of-the-whole-production-cluster-of-the-eastern-region-2026',
    label: 'the-backup-of-the-whole-production-cluster-of-the-easternf05641',
    hash: 'b94669b5067faff6b0de12573fd91fc4578b81bedb832ee55036211f',
  },
]

describe('names', () => {
  it('of up to 63 bytes are label values as they are', () => {
    for (const name of ['', 'nightly', 'a'.repeat(63)]) {
      assert.equal(validLabelValue(name), name)
      assert.equal(nameOrHash(name), name)
    }
  })

  for (const { name, label, hash } of long) {
    it(`such as ${name} keep 57 characters and get six of their SHA-256 as label values`, () => {
      assert.equal(validLabelValue(name), label)
      assert.equal(label.length, 63)
    })

    it(`such as ${name} become their SHA3-224 where a whole name is too long`, () => {
      assert.equal(nameOrHash(name), hash)
    })
  }

  it('never become label values that Kubernetes would refuse for their length or end', () => {
    const part = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?$/)
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), parts => {
        const value = validLabelValue(parts.join('.'))
        assert.match(value, /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/)
      }),
    )
  })

  it('of backups and restores make selectors, long ones too', () => {
    assert.equal(backupSelector('nightly'), 'velero.io/backup-name=nightly')
    assert.equal(restoreSelector(long[0]!.name), `velero.io/restore-name=${long[0]!.label}`)
  })

  it('of backup repositories are made of namespace, location and type, and so are their labels', () => {
    const key = { volumeNamespace: 'shop', backupStorageLocation: 'default', repositoryType: 'kopia' }
    assert.equal(backupRepositoryName(key), 'shop-default-kopia')
    assert.deepEqual(backupRepositoryLabels({ ...key, backupStorageLocation: long[1]!.name }), {
      'velero.io/volume-namespace': 'shop',
      'velero.io/storage-location': long[1]!.label,
      'velero.io/repository-type': 'kopia',
    })
  })

  it('to be generated begin with what they belong to', () => {
    assert.equal(generateNameFor('nightly'), 'nightly-')
    assert.equal(snapshotGenerateName('data'), 'velero-data-')
  })
})

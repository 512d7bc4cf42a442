import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseGoJson } from '../go-json/go-json.ts'
import { mergePolicies } from './merge-policies.ts'
import {
  compressorForFile,
  defaultPolicy,
  emptyPolicy,
  type Policy,
  parsePolicy,
  policyLabels,
  policyPayload,
  policyTargets,
} from './policy.ts'
import { buildPolicyTree, childPolicies } from './policy-tree.ts'

function policy(sections: Partial<Policy>): Policy {
  return { ...emptyPolicy(), ...sections }
}

describe('the effective policy', () => {
  it('is the default where nothing is stored', () => {
    const { retention, files, errorHandling, compression, metadataCompression, upload } = mergePolicies([])
    assert.deepEqual(
      { retention, files, errorHandling, compression, metadataCompression, upload },
      {
        retention: defaultPolicy().retention,
        files: { ignoreDotFiles: ['.kopiaignore'] },
        errorHandling: { ignoreFileErrors: false, ignoreDirectoryErrors: false, ignoreUnknownTypes: true },
        compression: { compressorName: 'none' },
        metadataCompression: { compressorName: 'zstd-fastest' },
        upload: { maxParallelSnapshots: 1, parallelUploadAboveSize: 2147483648 },
      },
    )
  })

  it('takes each value from the most specific policy that sets it, zero and false included', () => {
    const merged = mergePolicies([
      policy({
        retention: { keepLatest: 0 },
        errorHandling: { ignoreUnknownTypes: false },
        files: { ignore: [] },
      }),
      policy({ retention: { keepLatest: 5, keepDaily: 1 }, files: { ignore: ['*.tmp'] } }),
    ])
    assert.equal(merged.retention.keepLatest, 0)
    assert.equal(merged.retention.keepDaily, 1)
    assert.equal(merged.retention.keepHourly, 48)
    assert.equal(merged.errorHandling.ignoreUnknownTypes, false)
    assert.deepEqual(merged.files.ignore, ['*.tmp'])
  })

  it('unites the extensions that compression names, until a policy says otherwise', () => {
    const specific = policy({
      compression: { neverCompress: ['.z', '.gz'], onlyCompress: ['.txt'], noParentOnlyCompress: true },
    })
    const general = policy({ compression: { neverCompress: ['.gz', '.bz'], onlyCompress: ['.log'] } })
    const { compression } = mergePolicies([specific, general])
    assert.deepEqual(compression.neverCompress, ['.bz', '.gz', '.z'])
    assert.deepEqual(compression.onlyCompress, ['.txt'])
  })

  it('ends at a policy without parents, defaults included', () => {
    const merged = mergePolicies([policy({ noParent: true }), policy({ retention: { keepLatest: 5 } })])
    assert.deepEqual(merged.retention, {})
    assert.deepEqual(merged.files, {})
  })
})

describe('a stored policy', () => {
  it('keeps its sections in order, numbers beyond 2^53, and fields it does not know', () => {
    const stored =
      '{"upload":{"parallelUploadAboveSize":9223372036854775807,"new":1},"retention":{"keepLatest":3},"later":{"a":1}}'
    const parsed = parsePolicy(parseGoJson(stored))
    assert.equal(parsed.upload.parallelUploadAboveSize, 9223372036854775807n)
    const payload = policyPayload(parsed)
    assert.deepEqual(Object.keys(payload), [...Object.keys(emptyPolicy()), 'later'])
    assert.deepEqual(payload.later, { a: 1 })
    assert.deepEqual(
      { ...(payload.upload as object) },
      { parallelUploadAboveSize: 9223372036854775807n, new: 1 },
    )
  })

  it('is found under the labels of its target', () => {
    const source = { host: 'h', userName: 'u', path: '/a/b' }
    assert.deepEqual(policyTargets(source), [
      source,
      { ...source, path: '/a' },
      { ...source, path: '/' },
      { ...source, path: '' },
      { host: 'h', userName: '', path: '' },
      { host: '', userName: '', path: '' },
    ])
    assert.deepEqual(
      policyTargets(source).map(target => policyLabels(target).policyType),
      ['path', 'path', 'path', 'user', 'host', 'global'],
    )
    assert.deepEqual(
      policyTargets({ host: 'h', userName: 'u', path: 'requester/kopia/ns/pvc' }).map(target => target.path),
      ['requester/kopia/ns/pvc', 'requester/kopia/ns', 'requester/kopia', 'requester', '', '', ''],
    )
  })

  it('compresses by name, size and extension', () => {
    const zstd = {
      compressorName: 'zstd',
      minSize: 10,
      maxSize: 100,
      neverCompress: ['.gz'],
      onlyCompress: ['.tar'],
    }
    const chosen = (name: string, size: number) => compressorForFile(zstd, { name, size })
    assert.equal(chosen('a.txt', 50), 'zstd')
    assert.equal(chosen('a.txt', 9), undefined)
    assert.equal(chosen('a.txt', 101), undefined)
    assert.equal(chosen('a.gz', 50), undefined)
    assert.equal(chosen('a.tar', 50), 'zstd')
    assert.equal(compressorForFile({ compressorName: 'none' }, { name: 'a', size: 1 }), undefined)
  })
})

describe('a tree of policies', () => {
  it('applies a policy from its folder downwards, without merging', () => {
    const root = policy({ compression: { compressorName: 'zstd' } })
    const below = policy({ files: { maxFileSize: 7 } })
    const tree = buildPolicyTree(
      new Map([
        ['.', root],
        ['./a/b', below],
      ]),
    )
    const a = childPolicies(tree, 'a')
    const b = childPolicies(a, 'b')
    assert.equal(a.effective, root)
    assert.equal(a.defined, undefined)
    assert.equal(b.effective, below)
    assert.equal(b.defined, below)
    const c = childPolicies(b, 'c')
    assert.deepEqual([c.effective, c.defined], [below, undefined])
    assert.equal(childPolicies(childPolicies(tree, 'x'), 'b').effective, root)
  })
})

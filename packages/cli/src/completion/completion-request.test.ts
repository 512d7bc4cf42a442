import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { globalFlags } from '../tree/global-flags.ts'
import { commandTree } from '../tree/root.ts'
import { completionRequest } from './completion-request.ts'

const scene = (...words: string[]) => completionRequest(commandTree, globalFlags, words)
const request = (...words: string[]) => scene(...words).request

function offered(...words: string[]): string[] {
  const found = request(...words)
  assert.ok(found.want === 'words', found.want)
  return found.offers.map(({ word }) => word)
}

describe('completionRequest', () => {
  it('offers commands, but not those that programs call', () => {
    assert.deepEqual(offered('backup-location', ''), ['create', 'delete', 'get', 'set'])
    assert.ok(offered('').includes('backup') && !offered('').includes('node-agent'))
  })

  it('offers flags, but not those without effect', () => {
    const flags = offered('backup', 'get', '-')
    assert.ok(flags.includes('--selector') && flags.includes('-l') && flags.includes('--namespace'))
    assert.ok(!flags.includes('--logtostderr'))
  })

  it('offers the values of flags and arguments where they are known', () => {
    assert.deepEqual(offered('backup', 'get', '-o', ''), ['table', 'json', 'yaml', 'name'])
    assert.deepEqual(offered('backup', 'describe', '--output='), ['--output=plaintext', '--output=json'])
    assert.deepEqual(offered('completion', ''), ['bash', 'zsh', 'fish'])
    assert.deepEqual(offered('completion', 'bash', ''), [])
  })

  it('asks for names of the kind that a command is about, without those that are there already', () => {
    assert.deepEqual(request('delete', 'backups', 'a', '--confirm', ''), {
      want: 'names',
      plural: 'backups',
      lead: '',
      taken: ['a'],
    })
    assert.deepEqual(request('backup', 'create', 'new', ''), { want: 'words', offers: [] })
  })

  it('asks for names as values of flags, in lists behind those that are there', () => {
    assert.deepEqual(request('restore', 'create', '--from-backup=x'), {
      want: 'names',
      plural: 'backups',
      lead: '--from-backup=',
      taken: [''],
    })
    assert.deepEqual(request('backup', 'create', 'x', '--include-namespaces', 'a,b'), {
      want: 'names',
      plural: 'namespaces',
      lead: 'a,',
      taken: ['a', ''],
    })
  })

  it('leaves files to the shell where a value may be one', () => {
    assert.deepEqual(request('--kubeconfig', ''), { want: 'files' })
  })

  it('knows which cluster and namespace are meant', () => {
    const { given } = scene('-n', 'a', '--kubecontext=c', 'backup', 'get', '--wat', '')
    assert.deepEqual(Object.fromEntries(given), { namespace: 'a', kubecontext: 'c' })
  })
})

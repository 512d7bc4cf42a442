import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DataDownload } from '@lateen/api'
import type { KubeClient } from '@lateen/kube'
import { targetClaimOf } from './target-claim.ts'

const { signal } = new AbortController()

/** Whether a download with an annotation finds its claim, where there is one of that name that selects by a label. */
async function found(annotation: string | undefined, label: string | undefined): Promise<boolean> {
  const matchLabels = label === undefined ? undefined : { 'velero.io/dynamic-pv-restore': label }
  const claim = {
    metadata: { namespace: 'shop', name: 'data', uid: 'c' },
    spec: { selector: { matchLabels } },
  }
  const client = { resource: () => ({ get: async () => claim }) } as unknown as KubeClient
  const download = {
    metadata: { ...(annotation && { annotations: { 'lateen.dev/target-selector': annotation } }) },
    spec: { targetVolume: { namespace: 'shop', pvc: 'data', pv: '' } },
  } as unknown as DataDownload
  return (await targetClaimOf(download, { client, signal })) !== undefined
}

describe('The claim that a volume is filled for', () => {
  it('was any of its name: a later restore got the data of an earlier one', async () => {
    assert.equal(await found('shop.data.1a2b3', 'shop.data.1a2b3'), true)
    assert.equal(await found('shop.data.1a2b3', 'shop.data.4c5d6'), false)
    assert.equal(await found('shop.data.1a2b3', undefined), false)
  })

  it('is the one of its name where Velero began, which gives it a label by chance', async () => {
    assert.equal(await found(undefined, 'shop.data.xyz12'), true)
  })
})

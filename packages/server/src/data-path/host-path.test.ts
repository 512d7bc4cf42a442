import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hostPath } from './host-path.ts'

describe('The path of a volume on its node', () => {
  it('is below the folder that the installation names', () => {
    assert.equal(
      hostPath('/var/lib/kubelet/pods', 'uid/volumes/kubernetes.io~empty-dir/data', 'linux'),
      '/var/lib/kubelet/pods/uid/volumes/kubernetes.io~empty-dir/data',
    )
  })

  for (const inFolder of [
    'uid\\volumes\\kubernetes.io~csi\\pvc-1\\mount',
    'uid/volumes/kubernetes.io~csi/pvc-1/mount',
  ]) {
    it(`has backslashes on Windows, also for ${inFolder}`, () => {
      assert.equal(
        hostPath('/var/lib/kubelet/pods', inFolder, 'windows'),
        '\\var\\lib\\kubelet\\pods\\uid\\volumes\\kubernetes.io~csi\\pvc-1\\mount',
      )
      assert.equal(
        hostPath('C:\\var\\lib\\kubelet\\pods', inFolder, 'windows'),
        'C:\\var\\lib\\kubelet\\pods\\uid\\volumes\\kubernetes.io~csi\\pvc-1\\mount',
      )
    })
  }
})

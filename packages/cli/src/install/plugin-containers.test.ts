import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pluginContainerName, pluginContainers } from './plugin-containers.ts'

describe('pluginContainerName', () => {
  const names: [string, string][] = [
    ['velero/velero-plugin-for-aws:v1.14.0', 'velero-velero-plugin-for-aws'],
    ['gcr.io/my-repo/my_image.x:1', 'my-repo-my-image-x'],
    ['reg.io:5000/a/b', 'a-b'],
    ['reg.io:5000/a/b:2', 'a-b'],
    ['plugin', 'plugin'],
    ['a/b@sha256:0123', 'a-b'],
  ]
  for (const [image, name] of names) {
    it(`makes ${name} of ${image}`, () => {
      assert.equal(pluginContainerName(image), name)
    })
  }

  it('fits a container name whatever the image is called', () => {
    assert.equal(pluginContainerName(`a/${'x'.repeat(200)}:1`).length, 63)
  })
})

describe('pluginContainers', () => {
  it('gives images of the same name different containers', () => {
    const containers = pluginContainers(['a/b:1', 'a/b:2', 'a/b:3'], 'Always') as { name: string }[]
    assert.deepEqual(
      containers.map(container => container.name),
      ['a-b', 'a-b-2', 'a-b-3'],
    )
  })
})

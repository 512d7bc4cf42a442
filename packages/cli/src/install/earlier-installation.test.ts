import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { successionOf } from './earlier-installation.ts'
import type { Workload } from './installed-kinds.ts'

function server(
  args: string[],
  { image = 'lateen:1', selector = { deploy: 'velero' } as Record<string, string> } = {},
): Workload {
  const containers = [{ name: 'velero', image, args }]
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'velero', namespace: 'velero' },
    spec: { selector: { matchLabels: selector }, template: { spec: { containers } } },
  }
}

function argsOf(workload: Workload): string[] | undefined {
  return workload.spec?.template?.spec?.containers?.[0]?.args
}

describe('successionOf', () => {
  it('goes on with settings that only the earlier Deployment has, and says so', () => {
    const earlier = server(['server', '--features=', '--log-level=debug', '--no-such'], { image: 'velero:1' })
    const { workload, notes } = successionOf(server(['server', '--uploader-type=kopia']), earlier)
    assert.deepEqual(argsOf(workload), ['server', '--uploader-type=kopia', '--log-level=debug'])
    assert.deepEqual(notes, [
      'Deployment/velero: image velero:1 becomes lateen:1',
      'Deployment/velero: keeps --log-level=debug',
      'Warning: Deployment/velero: drops arguments that this version does not know: --no-such',
    ])
  })

  it('changes nothing the second time', () => {
    const first = successionOf(server(['server']), server(['server', '--log-level=debug'])).workload
    const second = successionOf(server(['server']), first)
    assert.deepEqual(argsOf(second.workload), argsOf(first))
  })

  it('says that a server stays stopped', () => {
    const earlier = server(['server'])
    const { notes } = successionOf(server(['server']), { ...earlier, spec: { ...earlier.spec, replicas: 0 } })
    assert.match(notes.join('\n'), /^Warning: .* stays stopped\. Start it: kubectl -n velero scale/)
  })

  it('refuses a Deployment that selects its pods otherwise', () => {
    const helm = server(['server'], { selector: { 'app.kubernetes.io/name': 'velero' } })
    assert.throws(
      () => successionOf(server(['server']), helm),
      /selects pods by app.kubernetes.io\/name=velero, where deploy=velero is needed/,
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type LaunchSettings, programArguments, programEnvironment } from './launch-settings.ts'

const settings: LaunchSettings = { env: {}, namespace: 'velero', logLevel: 'info', features: [] }

describe('What a program is started with', () => {
  it('is the environment of the server, with what makes it a plugin of this host', () => {
    const env = programEnvironment({ ...settings, env: { HOME: '/h', NONE: undefined } }, '/sockets')
    assert.deepEqual(env, {
      HOME: '/h',
      VELERO_PLUGIN: 'hello',
      LATEEN_PLUGIN_KINDS: 'BackupItemActionV3',
      PLUGIN_PROTOCOL_VERSIONS: '2',
      PLUGIN_MIN_PORT: '10000',
      PLUGIN_MAX_PORT: '25000',
      PLUGIN_UNIX_SOCKET_DIR: '/sockets',
      VELERO_NAMESPACE: 'velero',
    })
  })

  it('does not let the environment of the server change how the program speaks', () => {
    const env = programEnvironment(
      {
        ...settings,
        env: {
          PLUGIN_CLIENT_CERT: 'x',
          PLUGIN_MULTIPLEX_GRPC: 'true',
          PLUGIN_UNIX_SOCKET_GROUP: 'g',
          PLUGIN_UNIX_SOCKET_DIR: '/elsewhere',
          VELERO_PLUGIN: 'no',
          VELERO_NAMESPACE: 'other',
        },
      },
      '/sockets',
    )
    assert.deepEqual(env, programEnvironment(settings, '/sockets'))
  })

  it('names levels as logrus does, because programs in Go end at any other name', () => {
    const flags = (['debug', 'info', 'warn', 'error', 'fatal'] as const).map(logLevel =>
      programArguments({ ...settings, logLevel }),
    )
    assert.deepEqual(flags.flat(), [
      '--log-level=debug',
      '--log-level=info',
      '--log-level=warning',
      '--log-level=error',
      '--log-level=fatal',
    ])
  })

  it('tells features only if there are any', () => {
    assert.deepEqual(programArguments({ ...settings, features: ['A', 'B'] }), [
      '--log-level=info',
      '--features=A,B',
    ])
  })
})

import { PluginError } from './plugin-error.ts'

/** What a host sets in the environment of a plugin program, so that it knows it was not started by hand. */
export const magicCookie = { variable: 'VELERO_PLUGIN', value: 'hello' } as const

/** The version of go-plugin's own protocol. */
export const coreProtocolVersion = 1
/** The version of Velero's plugin protocol, which is the only one. */
export const appProtocolVersion = 2

/** Where a plugin program listens. */
export interface Handshake {
  network: 'unix' | 'tcp'
  /** The path of a socket, or host and port. */
  address: string
}

/** The line by which a plugin program tells its host that it listens, with its line break. */
export function serializeHandshake({ network, address }: Handshake): string {
  // The last field is a certificate; Velero dies of any that is longer than 50 characters.
  return `${coreProtocolVersion}|${appProtocolVersion}|${network}|${address}|grpc|\n`
}

/**
 * Reads the first line that a plugin program printed. Throws BAD_HANDSHAKE with what is wrong with it: the program is no plugin, speaks
 * another version or protocol, or wants TLS.
 */
export function parseHandshake(line: string): Handshake {
  const fields = line.trim().split('|')
  if (fields.length < 4) {
    throw bad(line, 'a plugin was expected to print where it listens', 'Check that the program is a plugin')
  }
  const [core, app, network = '', address = '', protocol = '', certificate = ''] = fields
  if (core !== String(coreProtocolVersion)) {
    throw bad(line, `its version ${core} of go-plugin's protocol is not ${coreProtocolVersion}`)
  }
  if (app !== String(appProtocolVersion)) {
    throw bad(line, `its version ${app} of the plugin protocol is not ${appProtocolVersion}`)
  }
  if (network !== 'unix' && network !== 'tcp') throw bad(line, `it listens on a network of type ${network}`)
  if (address === '') throw bad(line, 'it does not say where it listens')
  if (protocol !== 'grpc') throw bad(line, `it speaks ${protocol === '' ? 'netrpc' : protocol}, not grpc`)
  if (certificate !== '') {
    throw bad(line, 'it wants TLS', 'Remove PLUGIN_CLIENT_CERT from the environment')
  }
  return { network, address }
}

const SHOWN_CHARACTERS = 200

function bad(line: string, reason: string, hint = 'Use a plugin built for Velero 1.x'): PluginError {
  const text = line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line
  return new PluginError('BAD_HANDSHAKE', { reason: `${JSON.stringify(text.trim())}: ${reason}`, hint })
}

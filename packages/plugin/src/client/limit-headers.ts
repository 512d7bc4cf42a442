import { createRequire } from 'node:module'

type Connect = typeof import('node:http2').connect

/** A header field beyond this cannot be decoded by Node's HTTP/2, which then ends the connection with all its calls. */
const MAX_HEADER_LIST_BYTES = 65_535
const limited = Symbol.for('lateen.dev/limited-headers')

/**
 * Lets HTTP/2 clients of this process tell servers how long a header may be, so that a plugin in Go whose error text is too long
 * fails that call alone. grpc-js has no setting for it; it looks up `connect` each time it needs a connection. Doing this twice
 * changes nothing.
 */
export function limitHeaders(): void {
  const http2 = createRequire(import.meta.url)('node:http2') as { connect: Connect & { [limited]?: true } }
  const { connect } = http2
  if (connect[limited]) return
  const replacement = (authority: string | URL, options: object = {}, ...rest: never[]) => {
    const settings = {
      maxHeaderListSize: MAX_HEADER_LIST_BYTES,
      ...('settings' in options && Object(options.settings)),
    }
    return Reflect.apply(connect, http2, [authority, { ...options, settings }, ...rest])
  }
  http2.connect = Object.assign(replacement as Connect, { [limited]: true as const })
}

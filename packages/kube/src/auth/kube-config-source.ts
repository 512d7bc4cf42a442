/** What proves who the server is and, with `cert` and `key`, who we are. PEM text or bytes. */
export interface TlsSettings {
  ca?: string | Buffer | undefined
  cert?: string | Buffer | undefined
  key?: string | Buffer | undefined
  /** The name the server's certificate must hold, where it is not the host of the URL. */
  serverName?: string | undefined
  insecureSkipVerify?: boolean | undefined
}

/** Headers that say who we are, and a client certificate where a plugin hands one out. */
export interface Credentials {
  headers: Readonly<Record<string, string>>
  cert?: string | Buffer | undefined
  key?: string | Buffer | undefined
}

/** One cluster and one identity. `loadKubeConfig` makes them; a literal will do where both are known. */
export interface KubeConfigSource {
  /** Base URL of the API server, without a trailing slash. */
  readonly server: string
  /** The namespace commands work in when none is named. */
  readonly namespace?: string | undefined
  readonly tls: TlsSettings
  /** `http:`, `https:` or `socks5:` proxy to go through. */
  readonly proxyUrl?: string | undefined
  /** Where this came from, for messages: a file and context, or the pod. */
  readonly origin: string
  /** Credentials for the next request. Throws a KubeError `CredentialFailed` when there are none to be had. */
  credentials(): Promise<Credentials>
  /** Forgets what was cached: the server answered 401. The next `credentials()` reads or asks anew. */
  invalidate(): void
}

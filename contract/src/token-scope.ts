/**
 * The scopes of an API token. Each includes the previous ones, and none grants more rights than the token's user has. `read`: what a viewer
 * sees. `deploy`: what the public client does. `admin`: everything that does not require a session.
 */
export const tokenScopes = ['read', 'deploy', 'admin'] as const
export type TokenScope = (typeof tokenScopes)[number]

/** True if a token with the scope `held` may make calls that need `needed`. */
export const includesScope = (held: TokenScope, needed: TokenScope): boolean =>
  tokenScopes.indexOf(held) >= tokenScopes.indexOf(needed)

/**
 * The scopes of an API token. Each includes the previous ones, and none grants more rights than the token's user has. `read`: what a viewer
 * sees. `deploy`: what the public client does. `admin`: everything that does not require a session.
 */
export const tokenScopes = ['read', 'deploy', 'admin'] as const
export type TokenScope = (typeof tokenScopes)[number]

/** Whether a token with the scope `granted` may make calls that need the scope `required`. */
export const includesScope = (granted: TokenScope, required: TokenScope): boolean =>
  tokenScopes.indexOf(granted) >= tokenScopes.indexOf(required)

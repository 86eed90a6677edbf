import type { Config } from '../../config/config.ts'

/** The name of the gateway, to which domains point; empty if this installation orders no certificates. */
export const gatewayNameOf = ({ tls }: Pick<Config, 'tls'>): string => tls?.ownNames[1] ?? ''

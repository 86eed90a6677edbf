import { lazyPart } from '../../lib/lazy.tsx'

// Forms are larger than these pages, so their code loads when a dialog opens.
export const PasswordDialog = lazyPart(async () => ({ default: (await import('./PasswordDialog.tsx')).PasswordDialog }))
export const LimitsDialog = lazyPart(async () => ({ default: (await import('./LimitsDialog.tsx')).LimitsDialog }))
export const MaintenanceDialog = lazyPart(async () => ({
  default: (await import('./MaintenanceDialog.tsx')).MaintenanceDialog,
}))
export const SessionsDialog = lazyPart(async () => ({ default: (await import('./SessionsDialog.tsx')).SessionsDialog }))
export const SuspendDialog = lazyPart(async () => ({ default: (await import('./ReasonDialog.tsx')).SuspendDialog }))
export const HibernateDialog = lazyPart(async () => ({ default: (await import('./ReasonDialog.tsx')).HibernateDialog }))

import type { QueryClient } from '@tanstack/react-query'
import { createRoute, redirect } from '@tanstack/react-router'
import { authOptionsQuery } from '../../api/session.ts'
import { RootError } from '../Root.tsx'
import { search } from '../search.ts'
import { requireSignedOut } from '../session-gate.ts'
import { root } from './root.ts'
import { lazyPage } from '../missing-code.ts'

// The pages wait for the sign-in methods, so that the buttons of providers do not shift the layout later. A failure does not block the page.
const loadAuthOptions = (queryClient: QueryClient) => queryClient.ensureQueryData(authOptionsQuery).catch(() => null)

const guest = createRoute({
  getParentRoute: () => root,
  id: 'guest',
  validateSearch: search.guest,
  component: lazyPage(() => import('../layouts/GuestLayout.tsx')),
  errorComponent: RootError,
  beforeLoad: ({ context }) => requireSignedOut(context.queryClient),
})

const signIn = createRoute({
  getParentRoute: () => guest,
  path: '/',
  loader: ({ context }) => loadAuthOptions(context.queryClient),
  component: lazyPage(() => import('../../pages/auth/SignInPage.tsx')),
})
const signUp = createRoute({
  getParentRoute: () => guest,
  path: '/signup',
  loader: ({ context }) => loadAuthOptions(context.queryClient),
  validateSearch: search.signUp,
  component: lazyPage(() => import('../../pages/auth/SignUpPage.tsx')),
})
const restore = createRoute({
  getParentRoute: () => guest,
  path: '/restore',
  component: lazyPage(() => import('../../pages/auth/RestorePage.tsx')),
})
const confirmRestore = createRoute({
  getParentRoute: () => guest,
  path: '/restore/confirm/$token',
  component: lazyPage(() => import('../../pages/auth/ConfirmRestorePage.tsx')),
})
const oauth = createRoute({
  getParentRoute: () => guest,
  path: '/oauth/$provider',
  validateSearch: search.oauth,
  beforeLoad: ({ search: { code } }) => {
    if (!code) throw redirect({ to: '/', replace: true })
  },
  component: lazyPage(() => import('../../pages/auth/OauthReturnPage.tsx')),
})

// Pages that links in emails open, whether or not the user is signed in.

const links = createRoute({
  getParentRoute: () => root,
  id: 'links',
  component: lazyPage(() => import('../layouts/GuestLayout.tsx')),
  errorComponent: RootError,
})
const confirmEmail = createRoute({
  getParentRoute: () => links,
  path: '/confirm-email',
  validateSearch: search.confirmEmail,
  component: lazyPage(() => import('../../pages/auth/ConfirmEmailPage.tsx')),
})
const verifyEmail = createRoute({
  getParentRoute: () => links,
  path: '/verify-email',
  validateSearch: search.verifyEmail,
  component: lazyPage(() => import('../../pages/auth/VerifyOrgEmailPage.tsx')),
})

/** Pages for signed-out users (spec 2.1). */
export const guestRoutes = guest.addChildren([signIn, signUp, restore, confirmRestore, oauth])

/** Pages that links in emails open. */
export const linkRoutes = links.addChildren([confirmEmail, verifyEmail])

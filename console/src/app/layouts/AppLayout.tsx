import { useQuery } from '@tanstack/react-query'
import { Outlet, useMatches, useRouterState } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { sessionQuery, UserContext, useUser } from '../../api/session.ts'
import { DialogHost } from '../../components/DialogHost.tsx'
import { useHotkeys } from '../../lib/hotkeys.ts'
import { toast } from '../../lib/toasts.ts'
import { OnboardingGate } from '../../pages/onboarding/OnboardingGate.tsx'
import { copyRefused } from '../../ui/copy-text.ts'
import { useShouldShowTour } from '../tours/use-should-show-tour.ts'
import { ConnectionBar } from './ConnectionBar.tsx'
import { Frame, PageSkeleton } from './Frame.tsx'
import { Sidebar } from './Sidebar.tsx'
import { TopBar } from './TopBar.tsx'
import { closeOverlay, jumpAction, keyboardHelpAction, useOpenOverlay } from './overlays.ts'
import { useInvitationLink } from './use-invitation-link.ts'
import { useNavActions } from './use-nav-items.ts'
import { lazyPart, LazyBoundary } from '../../lib/lazy.tsx'

const ConfirmEmail = lazyPart(() => import('./ConfirmEmail.tsx'))
const loadSheet = () => import('../../ui/Dialog.tsx')
const Sheet = lazyPart(async () => ({ default: (await loadSheet()).Sheet }))
const OrgBanner = lazyPart(async () => ({ default: (await import('./OrgBanner.tsx')).OrgBanner }))
const CommandPalette = lazyPart(() => import('./CommandPalette.tsx'))
const KeyboardHelp = lazyPart(() => import('./KeyboardHelp.tsx'))
const Tour = lazyPart(() => import('../tours/Tour.tsx'))
const TermsDialog = lazyPart(() => import('../../pages/onboarding/TermsDialog.tsx'))

const searchAction = {
  label: 'Search on this page',
  keys: '/',
  run: () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
}

/** The layout behind the session gate. After the session ends, it renders an empty frame until the gate redirects. */
export default function AppLayout() {
  const session = useQuery(sessionQuery).data
  if (session?.status !== 'signedIn') return <Frame />
  return (
    <UserContext value={session.user}>
      <SignedIn />
      <LazyBoundary>{!session.user.policyAccepted && <TermsDialog />}</LazyBoundary>
    </UserContext>
  )
}

function SignedIn() {
  const user = useUser()
  const org = useOrg()
  const navActions = useNavActions()
  const overlay = useOpenOverlay()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  // The path on which the user opened the navigation, which closes when the path changes.
  const [navigationOpenOn, setNavigationOpenOn] = useState<string | null>(null)
  const isNavigationOpen = navigationOpenOn === path
  const shouldShowTour = useShouldShowTour(path)
  const isOpenToUnverified = useMatches({
    select: (all) => all.some(({ staticData }) => staticData.isOpenToUnverified),
  })

  useInvitationLink()
  useCopyRefusedToast()
  useHotkeys([
    jumpAction,
    keyboardHelpAction,
    searchAction,
    ...(user.emailVerified ? navActions.map((action) => ({ ...action, label: `Go to ${action.label}` })) : []),
  ])

  return (
    <OnboardingGate loading={<Frame />}>
      <Frame
        topBar={<TopBar onOpenNavigation={() => void loadSheet().then(() => setNavigationOpenOn(path))} />}
        sidebar={<Sidebar />}
      >
        <ConnectionBar />
        <LazyBoundary>{(org.suspension ?? user.support ?? user.maintenance) && <OrgBanner />}</LazyBoundary>
        {/* Remount when the organization changes, so that no data of the previous one stays on screen. */}
        <div key={org.id}>
          {user.emailVerified || isOpenToUnverified ? (
            <Outlet />
          ) : (
            <LazyBoundary>
              <Suspense fallback={<PageSkeleton />}>
                <ConfirmEmail />
              </Suspense>
            </LazyBoundary>
          )}
        </div>
      </Frame>
      <LazyBoundary what="The navigation" onFailed={() => setNavigationOpenOn(null)}>
        {isNavigationOpen && (
          <Sheet label="Navigation" isOpen onClose={() => setNavigationOpenOn(null)}>
            <Sidebar />
          </Sheet>
        )}
      </LazyBoundary>
      <LazyBoundary what="The command palette" onFailed={closeOverlay}>
        {overlay === 'palette' && user.emailVerified && <CommandPalette onClose={closeOverlay} />}
      </LazyBoundary>
      <LazyBoundary what="The keyboard help" onFailed={closeOverlay}>
        {overlay === 'keyboard' && <KeyboardHelp onClose={closeOverlay} />}
      </LazyBoundary>
      <DialogHost />
      <LazyBoundary>{shouldShowTour && <Tour />}</LazyBoundary>
    </OnboardingGate>
  )
}

/** Shows a toast when the browser refuses to copy text. Components in `ui/` only dispatch an event, because they must not depend on toasts. */
function useCopyRefusedToast(): void {
  useEffect(() => {
    const showToast = () =>
      toast({
        tone: 'bad',
        title: 'The text could not be copied',
        message: 'The browser does not allow it. Select the text and copy it yourself.',
      })
    document.addEventListener(copyRefused, showToast)
    return () => document.removeEventListener(copyRefused, showToast)
  }, [])
}

//! The types of records: their numbers and names, and what each is for an event.

use alloc::{borrow::Cow, format};

/// The names of consecutive numbers, from the first one on.
const NAMES: [(u16, &str); 17] = [
    (1005, "USER LOGIN"),
    (
        1100,
        "USER_AUTH USER_ACCT USER_MGMT CRED_ACQ CRED_DISP USER_START USER_END USER_AVC USER_CHAUTHTOK USER_ERR \
         CRED_REFR USYS_CONFIG USER_LOGIN USER_LOGOUT ADD_USER DEL_USER ADD_GROUP DEL_GROUP DAC_CHECK CHGRP_ID \
         TEST TRUSTED_APP USER_SELINUX_ERR USER_CMD USER_TTY CHUSER_ID GRP_AUTH SYSTEM_BOOT SYSTEM_SHUTDOWN \
         SYSTEM_RUNLEVEL SERVICE_START SERVICE_STOP GRP_MGMT GRP_CHAUTHTOK MAC_CHECK ACCT_LOCK ACCT_UNLOCK \
         USER_DEVICE SOFTWARE_UPDATE",
    ),
    (
        1200,
        "DAEMON_START DAEMON_END DAEMON_ABORT DAEMON_CONFIG DAEMON_RECONFIG DAEMON_ROTATE DAEMON_RESUME \
         DAEMON_ACCEPT DAEMON_CLOSE DAEMON_ERR",
    ),
    (1300, "SYSCALL"),
    (1302, "PATH IPC SOCKETCALL CONFIG_CHANGE SOCKADDR CWD"),
    (1309, "EXECVE"),
    (
        1311,
        "IPC_SET_PERM MQ_OPEN MQ_SENDRECV MQ_NOTIFY MQ_GETSETATTR KERNEL_OTHER FD_PAIR OBJ_PID TTY EOE BPRM_FCAPS \
         CAPSET MMAP NETFILTER_PKT NETFILTER_CFG SECCOMP PROCTITLE FEATURE_CHANGE REPLACE KERN_MODULE FANOTIFY \
         TIME_INJOFFSET TIME_ADJNTPVAL BPF EVENT_LISTENER URINGOP OPENAT2 DM_CTRL DM_EVENT",
    ),
    (
        1400,
        "AVC SELINUX_ERR AVC_PATH MAC_POLICY_LOAD MAC_STATUS MAC_CONFIG_CHANGE MAC_UNLBL_ALLOW MAC_CIPSOV4_ADD \
         MAC_CIPSOV4_DEL MAC_MAP_ADD MAC_MAP_DEL MAC_IPSEC_ADDSA MAC_IPSEC_DELSA MAC_IPSEC_ADDSPD \
         MAC_IPSEC_DELSPD MAC_IPSEC_EVENT MAC_UNLBL_STCADD MAC_UNLBL_STCDEL MAC_CALIPSO_ADD MAC_CALIPSO_DEL",
    ),
    (
        1500,
        "AA APPARMOR_AUDIT APPARMOR_ALLOWED APPARMOR_DENIED APPARMOR_HINT APPARMOR_STATUS APPARMOR_ERROR \
         APPARMOR_KILL",
    ),
    (1700, "ANOM_PROMISCUOUS ANOM_ABEND ANOM_LINK ANOM_CREAT"),
    (
        1800,
        "INTEGRITY_DATA INTEGRITY_METADATA INTEGRITY_STATUS INTEGRITY_HASH INTEGRITY_PCR INTEGRITY_RULE \
         INTEGRITY_EVM_XATTR INTEGRITY_POLICY_RULE",
    ),
    (2000, "KERNEL"),
    (
        2100,
        "ANOM_LOGIN_FAILURES ANOM_LOGIN_TIME ANOM_LOGIN_SESSIONS ANOM_LOGIN_ACCT ANOM_LOGIN_LOCATION ANOM_MAX_DAC \
         ANOM_MAX_MAC ANOM_AMTU_FAIL ANOM_RBAC_FAIL ANOM_RBAC_INTEGRITY_FAIL ANOM_CRYPTO_FAIL ANOM_ACCESS_FS \
         ANOM_EXEC ANOM_MK_EXEC ANOM_ADD_ACCT ANOM_DEL_ACCT ANOM_MOD_ACCT ANOM_ROOT_TRANS ANOM_LOGIN_SERVICE \
         ANOM_LOGIN_ROOT ANOM_ORIGIN_FAILURES ANOM_SESSION",
    ),
    (
        2200,
        "RESP_ANOMALY RESP_ALERT RESP_KILL_PROC RESP_TERM_ACCESS RESP_ACCT_REMOTE RESP_ACCT_LOCK_TIMED \
         RESP_ACCT_UNLOCK_TIMED RESP_ACCT_LOCK RESP_TERM_LOCK RESP_SEBOOL RESP_EXEC RESP_SINGLE RESP_HALT \
         RESP_ORIGIN_BLOCK RESP_ORIGIN_BLOCK_TIMED RESP_ORIGIN_UNBLOCK_TIMED",
    ),
    (
        2300,
        "USER_ROLE_CHANGE ROLE_ASSIGN ROLE_REMOVE LABEL_OVERRIDE LABEL_LEVEL_CHANGE USER_LABELED_EXPORT \
         USER_UNLABELED_EXPORT DEV_ALLOC DEV_DEALLOC FS_RELABEL USER_MAC_POLICY_LOAD ROLE_MODIFY \
         USER_MAC_CONFIG_CHANGE USER_MAC_STATUS",
    ),
    (
        2400,
        "CRYPTO_TEST_USER CRYPTO_PARAM_CHANGE_USER CRYPTO_LOGIN CRYPTO_LOGOUT CRYPTO_KEY_USER CRYPTO_FAILURE_USER \
         CRYPTO_REPLAY_USER CRYPTO_SESSION CRYPTO_IKE_SA CRYPTO_IPSEC_SA",
    ),
    (
        2500,
        "VIRT_CONTROL VIRT_RESOURCE VIRT_MACHINE_ID VIRT_INTEGRITY_CHECK VIRT_CREATE VIRT_DESTROY VIRT_MIGRATE_IN \
         VIRT_MIGRATE_OUT",
    ),
];

const LOGIN: u16 = 1006;
const SYSCALL: u16 = 1300;
const PATH: u16 = 1302;
const EOE: u16 = 1320;
const PROCTITLE: u16 = 1327;

/// The longest name of a type, in bytes.
const KIND_MAX: usize = 32;

/// What a record is for its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is an event by itself.
    Alone,
    /// It adds to what another one tells.
    Companion,
    /// It ends the event and tells nothing.
    End,
    /// It is the last one that tells something.
    Last,
    /// It says what the event is about.
    Own,
    /// It names a file.
    Path,
    Syscall,
}

/// The name of a number; of one that nobody knows it is `UNKNOWN[1399]`, as auditd writes it.
pub(super) fn name(number: u16) -> Cow<'static, str> {
    let known = NAMES.iter().find_map(|(first, names)| {
        let place = usize::from(number.checked_sub(*first)?);
        names.split(' ').nth(place)
    });
    known.map_or_else(|| Cow::Owned(format!("UNKNOWN[{number}]")), Cow::Borrowed)
}

/// The number of a name as auditd writes it.
pub(super) fn number(name: &str) -> Option<u16> {
    if let Some(digits) = name.strip_prefix("UNKNOWN[") {
        return digits.strip_suffix(']')?.parse().ok();
    }
    NAMES.iter().find_map(|(first, names)| {
        let place = names.split(' ').position(|known| known == name)?;
        first.checked_add(u16::try_from(place).ok()?)
    })
}

/// Whether this can be the name of a type.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |byte: &u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'[' | b']');
    (1..=KIND_MAX).contains(&name.len()) && name.as_bytes().iter().all(is_part)
}

/// What a record of this type is for its event. Which ones are events by themselves is as `libauparse` has it, but for
/// `LOGIN`, behind which today's kernels tell the call.
pub(super) const fn role(number: Option<u16>) -> Role {
    match number {
        None | Some(LOGIN) => Role::Own,
        Some(SYSCALL) => Role::Syscall,
        Some(PATH) => Role::Path,
        Some(EOE) => Role::End,
        Some(PROCTITLE) => Role::Last,
        Some(..1300 | 1406..=1419 | 2000 | 2100..) => Role::Alone,
        Some(number) if is_companion(number) => Role::Companion,
        Some(_) => Role::Own,
    }
}

/// Of those that nobody knows the kernel's records of calls count as companions.
const fn is_companion(number: u16) -> bool {
    matches!(
        number,
        1303 | 1304 | 1306..=1318 | 1321..=1323 | 1330 | 1331 | 1337 | 1340..=1399 | 1402
    )
}

//! informer-testserver
